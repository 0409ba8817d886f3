package laplace

import (
	"context"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// kfac sums up the second moments of each factor of the Jacobian.
type kfac[T kernel.Float] struct {
	spectral                           // H, once it is complete
	examples int                       // number of examples that A is the mean over
	parts    []factorOf                // the factors whose moments are summed up
	moments  map[*graph.Node]*total[T] // N A or G by factor
	values   map[*graph.Node][]float64 // their eigenvalues
	d        []T                       // [B·C, q] of the widest group
	job      momentsJob[T]             // of a batch, kept because a job lives on the heap
	roots    weighting[T]              // rows of Λ^½ J
}

// factorOf is a factor n of the Jacobian with the first block that has it.
type factorOf struct {
	k     block       // the first block with the factor
	n     *graph.Node // the inputs or cotangents whose moments make the factor
	width int         // order of the factor
	work  int         // the number of multiplications that the moments of a batch take
	// squares says that only the squares of the elements are summed up, see [widestRows].
	squares bool
}

// widestRows is the most elements of a parameter whose Jacobian is no outer product for KFAC to keep its
// block of H: the block has the square of this number. Of a larger parameter, such as a table of positions
// or of tokens, KFAC keeps the diagonal of H. Tests change it.
var widestRows = 512

// shape is the shape of the moments of the factor.
func (p factorOf) shape() []int {
	if p.squares {
		return []int{p.size()}
	}
	return []int{p.width, p.width}
}

// size is the number of the moments of the factor.
func (p factorOf) size() int {
	switch {
	case p.k.tokens != nil:
		return p.k.size()
	case p.squares:
		return p.width
	}
	return p.width * p.width
}

// wide lists the parameters of whose part of H the diagonal is kept alone.
func (h *kfac[T]) wide() (names []string) {
	for _, p := range h.parts {
		if p.squares {
			names = append(names, p.k.param.Name)
		}
	}
	return names
}

// addMoments adds the moments of rows v [·,width] of a factor at the examples of b to sum.
func addMoments[T kernel.Float](b batch, p factorOf, sum, v []T) {
	switch {
	case p.k.tokens != nil:
		eachToken(b, p.k, v, func(at int, part []T) {
			to := sum[at : at+len(part)]
			kernel.MulAdd(to, part, part, to)
		})
	case !p.squares:
		addGram(sum, v, p.width)
	default:
		for row := range slices.Chunk(v, p.width) {
			kernel.MulAdd(sum, row, row, sum)
		}
	}
}

func newKFAC[T kernel.Float](s *scanner, examples int) structure {
	h := &kfac[T]{
		spectral: spectral{scanner: s, basis: map[*graph.Node][]float64{}}, examples: examples,
		moments: map[*graph.Node]*total[T]{}, values: map[*graph.Node][]float64{},
	}
	seen, outer := map[*graph.Node]bool{}, map[*graph.Node]bool{}
	for _, k := range s.blocks {
		outer[k.d] = outer[k.d] || k.a != nil
	}
	for _, k := range s.blocks {
		for _, n := range k.nodes() {
			if !seen[n] {
				seen[n] = true
				p := factorOf{k: k, n: n, width: width(n), squares: k.tokens != nil || n == k.d && !outer[n] && k.places == 1 && width(n) > widestRows}
				if p.work = n.Shape().TotalSize(); !p.squares {
					p.work *= p.width
				}
				h.parts = append(h.parts, p)
			}
		}
	}
	return h
}

// bytes: each factor has moments, their recent part and a basis; finding a basis takes four
// matrices more.
func (h *kfac[T]) bytes() int64 {
	var sum, widest int64
	for _, p := range h.parts {
		n := int64(p.size())
		sum, widest = sum+3*n, max(widest, n)
	}
	return 8 * (sum + 4*widest + 2*int64(h.params) + int64(h.rootsSize()))
}

// rotates reports whether a factor has a basis of eigenvectors: those of which only squares are kept have none.
func (h *kfac[T]) rotates(n *graph.Node) bool {
	return slices.ContainsFunc(h.parts, func(p factorOf) bool { return p.n == n && !p.squares })
}

// factorSizes lists the orders of the matrices whose eigenvectors are found.
func (h *kfac[T]) factorSizes() (orders []int) {
	for _, p := range h.parts {
		if !p.squares {
			orders = append(orders, p.width)
		}
	}
	return orders
}

func (h *kfac[T]) allocate() {
	for _, p := range h.parts {
		h.moments[p.n] = newMoments[T](p)
	}
}

// newMoments returns a sum of the moments of a factor.
func newMoments[T kernel.Float](p factorOf) *total[T] {
	t := newTotal[T](p.size())
	if p.n == p.k.a {
		t.patches = newPatches[T](p.k)
	}
	if p := t.patches; p != nil {
		t.recent = make([]T, patchSums*p.c*p.c)
	}
	return t
}

func (h *kfac[T]) add(b batch) error {
	h.sum(b, true)
	return h.addRows(b)
}

func (h *kfac[T]) apart() bool { return true }

// addInputs adds the moments of the inputs of the layers.
func (h *kfac[T]) addInputs(b batch) error {
	h.sum(b, true)
	return nil
}

// addRows adds the moments of b's cotangents.
func (h *kfac[T]) addRows(b batch) error {
	if b.lambda == nil {
		h.sum(b, false)
		return nil
	}
	if h.d == nil {
		h.d = make([]T, h.rootsSize())
	}
	for _, p := range h.parts {
		if p.n == p.k.d {
			if sum := h.moments[p.n].recent; b.isUnit(p.n) {
				addUnitMoments(b, p, sum, h.d)
			} else {
				addMoments(b, p, sum, h.roots.weighted(b, h.d, rows[T](b, p.n), p.k.places*p.width))
			}
			h.moments[p.n].next()
		}
	}
	return nil
}

// rootsSize is the memory that the moments of the cotangents of a batch take.
func (h *kfac[T]) rootsSize() int {
	size := 0
	for _, p := range h.parts {
		switch {
		case p.n == h.unit:
			size = max(size, 2*h.batch*h.outputs)
		case p.n == p.k.d:
			size = max(size, h.batch*h.outputs*p.k.places*p.width)
		}
	}
	return size
}

// sum adds the moments of the inputs, or of the cotangents, each on a thread of its own but for
// those that take long.
func (h *kfac[T]) sum(b batch, inputs bool) {
	j := &h.job
	*j = momentsJob[T]{kfac: h, b: b, parts: j.parts[:0]}
	work := 0
	for _, p := range h.parts {
		if (p.n == p.k.a) == inputs {
			work += p.work
		}
	}
	for i, p := range h.parts {
		switch {
		case (p.n == p.k.a) != inputs:
		case p.work > work/kernel.Threads():
			j.one(p)
		default:
			j.parts = append(j.parts, i)
		}
	}
	kernel.Parallel(len(j.parts), j)
}

// momentsJob is the kernel.Job that adds the moments of some factors, one in each part.
type momentsJob[T kernel.Float] struct {
	*kfac[T]
	b     batch // the batch at hand
	parts []int // numbers of the factors to which the batch is added
}

// Run implements kernel.Job.
func (j *momentsJob[T]) Run(part, _ int) { j.one(j.kfac.parts[j.parts[part]]) }

// one adds the moments of a factor.
func (j *momentsJob[T]) one(p factorOf) {
	m := j.moments[p.n]
	switch {
	case j.b.isUnit(p.n):
		addUnitMoments(j.b, p, m.recent, nil)
	case m.patches != nil:
		m.patches.add(rows[T](j.b, p.k.images), m.recent)
	default:
		addMoments(j.b, p, m.recent, rows[T](j.b, p.n))
	}
	m.next()
}

// finish finds the eigenvectors of the factors.
func (h *kfac[T]) finish(ctx context.Context) (err error) {
	for _, p := range h.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := h.moments[p.n].all()
		if kernel.Scale(m, 1/float64(h.over(p)), m); !p.squares {
			kernel.CopyLower(p.width, m, p.width)
		}
		if err := checkFinite(m, p.k); err != nil {
			return err
		}
		if h.values[p.n] = m; p.squares {
			continue
		}
		if h.values[p.n], h.basis[p.n], err = eigen.Semidefinite(p.width, m); err != nil {
			return err
		}
	}
	h.moments, h.d = nil, nil
	return h.rebuild(ctx)
}

// over is the number by which the sum of a factor's moments is divided.
func (h *kfac[T]) over(p factorOf) int {
	if p.n == p.k.d {
		return p.k.places
	}
	return h.examples
}

// rebuild: the eigenvalues of A⊗G are the products of an eigenvalue of A and an eigenvalue of G.
func (h *kfac[T]) rebuild(context.Context) error {
	for _, k := range h.blocks {
		h.h = append(h.h, products(h.values[k.a], h.values[k.d]))
	}
	return nil
}

// eigenvalues returns those of a factor.
func (h *kfac[T]) eigenvalues(factor *graph.Node) []float64 { return h.values[factor] }

// products returns the eigenvalues of A⊗G, from the eigenvalues a of A and g of G. Negative
// eigenvalues, which come from rounding, count as 0. nil instead of a stands for the number 1.
func products(a, g []float64) []float64 {
	if a == nil {
		a = []float64{1}
	}
	var out []float64
	for _, v := range a {
		for _, w := range g {
			out = append(out, max(0, v)*max(0, w))
		}
	}
	return out
}
