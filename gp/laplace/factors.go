package laplace

import (
	"context"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// factors hold Jacobian rows, or mixtures of the rows of one example, by the factors of their outer
// products. A row of a perceptron with layers of p inputs and q outputs takes Σ (p+q) numbers in
// place of Σ pq, and so do products of rows:
//
//	(a⊗d)·(a'⊗d') = (a·a') (d·d')
//
// This is the kernel that jacobian.NTK writes into a graph, for rows that are kept.
type factors struct {
	*scanner             // says which blocks the factors belong to
	n        int         // rows
	d        [][]float64 // cotangents, by group [n,q]
	a        [][]float64 // inputs of layers, by block [n/C,p], nil for the number 1
}

// newFactors has memory for n rows.
func (s *scanner) newFactors(n int) factors {
	f := factors{scanner: s, n: n, a: make([][]float64, len(s.blocks))}
	for _, g := range s.groups {
		f.d = append(f.d, make([]float64, n*g.q))
	}
	for i, k := range s.blocks {
		if k.a != nil {
			f.a[i] = make([]float64, n/s.outputs*k.p)
		}
	}
	return f
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

// KeptOfExample is how many numbers the structure Full keeps, in function space, of the Jacobian of
// a network with the given number of outputs at one example [shape]. A network that Fit would refuse
// is an error.
func KeptOfExample(net layers.Network, shape tensor.Shape, outputs int) (int, error) {
	s, err := newScanner(net, shape, outputs, 1, keeping{}, nil)
	if err != nil {
		return 0, err
	}
	return s.factorsSize(outputs), nil
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

// factors returns the factors of the rows of b, which hold until the next batch. Where a factor is
// not finite, the error says which derivative is not.
func (b batch) factors() (factors, error) {
	f := factors{scanner: b.scanner, n: b.size(), d: b.cotangents[:0], a: b.layerInputs[:0]}
	for _, g := range b.groups {
		f.d = append(f.d, rows[float64](b, g.d))
	}
	for _, k := range b.blocks {
		var a []float64
		if k.a != nil {
			a = rows[float64](b, k.a)
		}
		f.a = append(f.a, a)
	}
	b.cotangents, b.layerInputs = f.d, f.a
	if !allFinite(f.d) || !allFinite(f.a) {
		return f, b.jacobian(b.take(b.size()*b.params), b.params)
	}
	return f, nil
}

// allFinite reports whether all arrays hold finite numbers alone.
func allFinite(all [][]float64) bool {
	for _, v := range all {
		if i, _ := kernel.FirstNonFinite(v); i >= 0 {
			return false
		}
	}
	return true
}

// part are the rows lo to hi, of whole examples.
func (f factors) part(lo, hi int) factors {
	p := factors{scanner: f.scanner, n: hi - lo}
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

// times writes UT²Vᵀ for the rows U and V to the first columns of out, [U's rows, ld]. work holds a
// number for each pair of rows and for each pair of examples. times returns ctx's error if ctx ends first.
func (f factors) times(ctx context.Context, v factors, c scales, out []float64, ld int, work []float64) error {
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
			kernel.Gemm(false, true, f.n, v.n, g.q, constant, f.d[i], g.q, v.d[i], g.q, 1, out, ld)
			continue
		}
		kernel.Gemm(false, true, f.n, v.n, g.q, 1, f.d[i], g.q, v.d[i], g.q, 0, dots, v.n)
		f.shared(v, g, c, constant, shared)
		for r := range f.n {
			e := v.n / f.outputs
			addExpanded(out[r*ld:r*ld+v.n], dots[r*v.n:(r+1)*v.n], shared[r/f.outputs*e:], f.outputs)
		}
	}
	return ctx.Err()
}

// constant is Σ t² of the blocks of a group without a, and factored says whether there are others.
func (f factors) constant(g group, c scales) (sum float64, factored bool) {
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
func (f factors) shared(v factors, g group, c scales, constant float64, out []float64) {
	m, n := f.n/f.outputs, v.n/f.outputs
	for i := range out {
		out[i] = constant
	}
	for _, i := range g.blocks {
		if f.a[i] != nil {
			p := f.blocks[i].p
			kernel.Gemm(false, true, m, n, p, c.of(i)*c.of(i), f.a[i], p, v.a[i], p, 1, out, n)
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

// own writes UT²Uᵀ of each example's rows to the front of cov, [n/C,C,C].
func (f factors) own(c scales, cov []float64) {
	k := f.outputs
	clear(cov[:f.n*k])
	for i, g := range f.groups {
		constant, _ := f.constant(g, c)
		for e := range f.n / k {
			s := constant
			for _, j := range g.blocks {
				if a := f.a[j]; a != nil {
					p := f.blocks[j].p
					row := a[e*p : (e+1)*p]
					s += c.of(j) * c.of(j) * kernel.Dot(row, row)
				}
			}
			kernel.Syrk(false, k, g.q, s, f.d[i][e*k*g.q:], g.q, 1, cov[e*k*k:], k)
		}
	}
}

// squareRows is how many rows square multiplies with others at a time. The work takes little memory beside the product, and
// the other rows are read seldom.
const squareRows = 256

// square implements dataRows.
func (f factors) square(ctx context.Context, c scales, g []float64, progress func(done, total int)) error {
	step := max(1, squareRows/f.outputs) * f.outputs
	work := make([]float64, f.workSize(min(step, f.n), f.n))
	for lo := 0; lo < f.n; lo += step {
		hi := min(lo+step, f.n)
		if err := f.part(lo, hi).times(ctx, f.part(0, hi), c, g[lo*f.n:], f.n, work); err != nil {
			return err
		}
		if progress != nil {
			progress(hi*hi/f.n, f.n)
		}
	}
	return nil
}

// cross implements dataRows.
func (f factors) cross(b batch, u factors, c scales, out []float64, ld int) error {
	return u.times(b.ctx, f, c, out, ld, b.take(f.workSize(u.n, f.n)))
}

// workSize returns the size of the argument work of times, for products of m rows with n rows.
func (s *scanner) workSize(m, n int) int { return m*n + m/s.outputs*(n/s.outputs) }

// columns writes the columns lo to lo+cols, which are of block i, to dst [n,cols].
func (f factors) columns(i, lo, cols int, dst []float64) {
	k := f.blocks[i]
	d := f.d[f.groupOf(i)]
	for r := range f.n {
		out, left, right := dst[r*cols:(r+1)*cols], alone, d[r*k.q:(r+1)*k.q]
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
			kernel.Scale(out[:n], left[at/len(right)], part[:n])
			out, at = out[n:], at+n
		}
	}
}

var alone = []float64{1} // in place of a

// groupOf is the group of block i.
func (s *scanner) groupOf(i int) int {
	return slices.IndexFunc(s.groups, func(g group) bool { return slices.Contains(g.blocks, i) })
}
