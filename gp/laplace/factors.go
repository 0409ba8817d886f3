package laplace

import (
	"context"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// factors hold Jacobian rows, or mixtures of the rows of one example, by the factors of their outer
// products, in the precision of the network. A row of a perceptron with layers of p inputs and q outputs takes Σ (p+q)
// numbers in place of Σ pq, and so do products of rows:
//
//	(a⊗d)·(a'⊗d') = (a·a') (d·d')
//
// This is the kernel that jacobian.NTK writes into a graph, for rows that are kept.
type factors[T kernel.Float] struct {
	*scanner       // says which blocks the factors belong to
	n        int   // rows
	d        [][]T // cotangents, by group [n,q]
	a        [][]T // inputs of layers, by block [n/C,p], nil for the number 1
}

// exampleRows are factors of either precision.
type exampleRows interface {
	// own writes UT²Uᵀ of each example's rows to the front of cov, [n/C,C,C].
	own(c scales, cov []float64)
	// columns writes the columns lo to lo+cols, which are of block i, to dst [n,cols].
	columns(i, lo, cols int, dst []float64)
}

// heldRows are dataRows that hold the factors of all rows.
type heldRows interface {
	dataRows
	// add takes the rows Λ^½ J of a batch in, of which the first has number first among the examples.
	add(b batch, first int, roots *weighting[float64]) error
	// resume copies all rows of old to the front.
	resume(old dataRows)
}

// newRows has memory for n rows.
func (s *scanner) newRows(n int) heldRows {
	if s.float == tensor.Float32 {
		return newFactors[float32](s, n)
	}
	return newFactors[float64](s, n)
}

func newFactors[T kernel.Float](s *scanner, n int) factors[T] {
	f := factors[T]{scanner: s, n: n, a: make([][]T, len(s.blocks))}
	for _, g := range s.groups {
		f.d = append(f.d, make([]T, n*g.q))
	}
	for i, k := range s.blocks {
		if k.a != nil {
			f.a[i] = make([]T, n/s.outputs*k.p)
		}
	}
	return f
}

// add implements heldRows.
func (f factors[T]) add(b batch, first int, roots *weighting[float64]) error {
	if err := b.checkFactors(); err != nil {
		return err
	}
	for i, g := range f.groups {
		mark := b.mark()
		d := rows[float64](b, g.d)
		if b.lambda != nil {
			d = roots.weighted(b, b.take(len(d)), d, g.q)
		}
		convert(f.d[i][first*b.outputs*g.q:], d)
		b.release(mark)
	}
	for i, k := range f.blocks {
		if k.a != nil {
			convert(f.a[i][first*k.p:], rows[T](b, k.a))
		}
	}
	return nil
}

// resume implements heldRows.
func (f factors[T]) resume(old dataRows) {
	have := old.(factors[T])
	for i, d := range have.d {
		copy(f.d[i], d)
	}
	for i, a := range have.a {
		copy(f.a[i], a)
	}
}

// factorsSize is the number of elements of n rows.
func (s *scanner) factorsSize(n int) (size int) {
	for _, g := range s.groups {
		size += n * g.q
	}
	for _, k := range s.blocks {
		if k.a != nil {
			size += n / s.outputs * k.p
		}
	}
	return size
}

// factorsBytes is the memory of n rows.
func (s *scanner) factorsBytes(n int) int64 { return int64(s.factorsSize(n)) * int64(s.float.Size()) }

// KeptOfExample is how many bytes the structure Full keeps, in function space, of the Jacobian of
// a network with the given number of outputs at one example [shape]. A network that Fit would refuse
// is an error.
func KeptOfExample(net layers.Network, shape tensor.Shape, outputs int) (int64, error) {
	s, err := newScanner(net, shape, outputs, 1, keeping{}, nil)
	if err != nil {
		return 0, err
	}
	return s.factorsBytes(outputs), nil
}

// products is the number of multiplications of m rows with n.
func (s *scanner) products(m, n float64) (count float64) {
	for _, g := range s.groups {
		count += m * n * float64(g.q)
	}
	for _, k := range s.blocks {
		if k.a != nil {
			count += m * n * float64(k.p) / float64(s.outputs*s.outputs)
		}
	}
	return count
}

// factors returns the factors of the rows of b, which hold until the next batch.
func (b batch) factors() (exampleRows, error) {
	if err := b.checkFactors(); err != nil {
		return nil, err
	}
	if b.float == tensor.Float32 {
		return factorsOf[float32](b), nil
	}
	return factorsOf[float64](b), nil
}

// factorsOf is factors without a check.
func factorsOf[T kernel.Float](b batch) *factors[T] {
	f := &workingOf[T](b.scanner).rows
	f.scanner, f.n, f.d, f.a = b.scanner, b.size(), f.d[:0], f.a[:0]
	for _, g := range b.groups {
		f.d = append(f.d, rows[T](b, g.d))
	}
	for _, k := range b.blocks {
		var a []T
		if k.a != nil {
			a = rows[T](b, k.a)
		}
		f.a = append(f.a, a)
	}
	return f
}

// checkFactors says which derivative is not finite.
func (b batch) checkFactors() error {
	finite := true
	for _, g := range b.groups {
		finite = finite && b.finite(g.d)
	}
	for _, k := range b.blocks {
		finite = finite && (k.a == nil || b.finite(k.a))
	}
	if finite {
		return nil
	}
	return b.jacobian(b.take(b.size()*b.params), b.params)
}

// finite reports whether a factor is finite for the batch's examples.
func (b batch) finite(n *graph.Node) bool {
	if b.isUnit(n) {
		return true
	}
	v := b.values[n]
	i, _ := graph.FirstNonFinite(v)
	return i < 0 || i >= v.Size()/b.batch*b.count
}

// part are the rows lo to hi, of whole examples.
func (f factors[T]) part(lo, hi int) factors[T] {
	p := factors[T]{scanner: f.scanner, n: hi - lo}
	for i, g := range f.groups {
		p.d = append(p.d, f.d[i][lo*g.q:hi*g.q])
	}
	for i, k := range f.blocks {
		a := f.a[i]
		if a != nil {
			a = a[lo/f.outputs*k.p : hi/f.outputs*k.p]
		}
		p.a = append(p.a, a)
	}
	return p
}

// times writes UT²Vᵀ for the rows U and V to the first columns of out, [U's rows, ld]. p multiplies them, and work holds a
// number for each pair of rows and for each pair of examples. times returns ctx's error if ctx ends first.
func (f factors[T]) times(ctx context.Context, v factors[T], c scales, p product[T], out []float64, ld int, work []float64) error {
	for r := range f.n {
		clear(out[r*ld : r*ld+v.n])
	}
	dots, shared := work[:f.n*v.n], work[f.n*v.n:f.n*v.n+f.n/f.outputs*(v.n/f.outputs)]
	for i, g := range f.groups {
		if err := ctx.Err(); err != nil {
			return err
		}
		constant, factored := f.constant(g, c)
		if !factored {
			p.add(f.n, v.n, g.q, constant, f.d[i], v.d[i], out, ld)
			continue
		}
		clear(dots)
		p.add(f.n, v.n, g.q, 1, f.d[i], v.d[i], dots, v.n)
		f.shared(v, g, c, constant, &p, shared)
		for r := range f.n {
			e := v.n / f.outputs
			addExpanded(out[r*ld:r*ld+v.n], dots[r*v.n:(r+1)*v.n], shared[r/f.outputs*e:], f.outputs)
		}
	}
	return ctx.Err()
}

// constant is Σ t² of the blocks of a group without a, and factored says whether there are others.
func (f factors[T]) constant(g group, c scales) (sum float64, factored bool) {
	for _, i := range g.blocks {
		if f.blocks[i].a != nil {
			factored = true
			continue
		}
		sum += c.of(i) * c.of(i)
	}
	return sum, factored
}

// shared writes what the outputs of two examples share, Σ t² a·a' over the blocks of a group and
// a constant.
func (f factors[T]) shared(v factors[T], g group, c scales, constant float64, p *product[T], out []float64) {
	m, n := f.n/f.outputs, v.n/f.outputs
	for i := range out {
		out[i] = constant
	}
	for _, i := range g.blocks {
		if f.a[i] != nil {
			p.add(m, n, f.blocks[i].p, c.of(i)*c.of(i), f.a[i], v.a[i], out, n)
		}
	}
}

// addExpanded adds v_i s_⌊i/each⌋ to out.
func addExpanded(out, v, s []float64, each int) {
	if each == 1 {
		kernel.MulAdd(out, v, s[:len(v)], out)
		return
	}
	for i, by := range s[:len(v)/each] {
		to, from := out[i*each:(i+1)*each], v[i*each:(i+1)*each]
		for j, w := range from {
			to[j] += w * by
		}
	}
}

// own implements exampleRows.
func (f factors[T]) own(c scales, cov []float64) {
	k := f.outputs
	clear(cov[:f.n*k])
	var one, all []float64 // of an example, in float64
	if f.single() {
		one, all = f.take(f.widestFactor()), f.take(k*f.widestFactor())
	}
	for i, g := range f.groups {
		constant, _ := f.constant(g, c)
		for e := range f.n / k {
			s := constant
			for _, j := range g.blocks {
				if a := f.a[j]; a != nil {
					p := f.blocks[j].p
					row := widened(one, a[e*p:(e+1)*p])
					s += c.of(j) * c.of(j) * kernel.Dot(row, row)
				}
			}
			rows := widened(all, f.d[i][e*k*g.q:(e+1)*k*g.q])
			kernel.Syrk(false, k, g.q, s, rows, g.q, 1, cov[e*k*k:], k)
		}
	}
}

// squareRows is how many rows square multiplies with others at a time. The work takes little memory beside the product, and
// the other rows are read seldom.
const squareRows = 256

// square implements dataRows. The products are in float64, so that G has no negative eigenvalues but for the rounding of float64.
func (f factors[T]) square(ctx context.Context, c scales, g []float64, progress func(done, total int)) error {
	step := max(1, squareRows/f.outputs) * f.outputs
	work := make([]float64, f.workSize(min(step, f.n), f.n))
	by := f.newProduct(&working[float64]{}, nil, true, min(step, f.n), f.n)
	for lo := 0; lo < f.n; lo += step {
		hi := min(lo+step, f.n)
		if err := f.part(lo, hi).times(ctx, f.part(0, hi), c, by, g[lo*f.n:], f.n, work); err != nil {
			return err
		}
		if progress != nil {
			progress(hi*hi/f.n, f.n)
		}
	}
	return nil
}

// cross implements dataRows.
func (f factors[T]) cross(b batch, c scales, precise bool, out []float64, ld int) error {
	u := factorsOf[T](b)
	by := f.newProduct(&b.double, workingOf[T](b.scanner), precise, u.n, f.n)
	return u.times(b.ctx, f, c, by, out, ld, b.take(f.workSize(u.n, f.n)))
}

// single implements dataRows.
func (f factors[T]) single() bool { return f.float == tensor.Float32 }

// widestFactor returns the largest width of a factor, with one place.
func (s *scanner) widestFactor() (width int) {
	for _, k := range s.blocks {
		width = max(width, k.p, k.q)
	}
	return width
}

// workSize returns the size of the argument work of times, for products of m rows with n rows.
func (s *scanner) workSize(m, n int) int { return m*n + m/s.outputs*(n/s.outputs) }

// columns implements exampleRows.
func (f factors[T]) columns(i, lo, cols int, dst []float64) {
	k := f.blocks[i]
	d, alone := f.d[f.groupOf(i)], [1]T{1} // alone stands in for a
	for r := range f.n {
		out, left, right := dst[r*cols:(r+1)*cols], alone[:], d[r*k.q:(r+1)*k.q]
		if a := f.a[i]; a != nil {
			left = a[r/f.outputs*k.p : (r/f.outputs+1)*k.p]
		}
		if k.swapped {
			left, right = right, left
		}
		if len(right) == 1 { // the order is the same, and parts are longer
			left, right = right, left
		}
		for at := lo - k.offset; len(out) > 0; {
			part := right[at%len(right):]
			n := min(len(part), len(out))
			convert(out[:n], part[:n])
			kernel.Scale(out[:n], float64(left[at/len(right)]), out[:n])
			out, at = out[n:], at+n
		}
	}
}

// groupOf is the group of block i.
func (s *scanner) groupOf(i int) int {
	return slices.IndexFunc(s.groups, func(g group) bool { return slices.Contains(g.blocks, i) })
}
