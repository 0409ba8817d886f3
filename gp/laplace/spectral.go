package laplace

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// spectral is an H that is diagonal in a basis of outer products: for each block
// H = (U⊗V) diag(h) (U⊗V)ᵀ, with orthonormal U [p,p] and V [q,q], and nothing between
// blocks. KFAC finds U and V, Diagonal takes unit vectors.
type spectral struct {
	*scanner                           // computes the factors of the Jacobian
	h        [][]float64               // by block, [p·q]
	basis    map[*graph.Node][]float64 // U or V by factor, in columns; none: unit vectors
}

// elements: the factors, in the precision of the network and in float64.
func (s *spectral) elements() int {
	sum, seen := 0, map[*graph.Node]bool{}
	for _, k := range s.blocks {
		for _, n := range k.nodes() {
			if !seen[n] && n != s.unit {
				seen[n] = true
				sum += 2 * n.Shape().TotalSize() / s.batch
			}
		}
	}
	return sum
}

// checkFinite refuses what derivatives that are not finite have led to.
func checkFinite(sums []float64, of block) error {
	if i, v := kernel.FirstNonFinite(sums); i >= 0 {
		return fmt.Errorf("laplace: the squared derivatives in parameter %q sum to %g", of.param.Name, v)
	}
	return nil
}

// checkMatrix is checkFinite for H [P,P], whose diagonal has its largest elements.
func (s *scanner) checkMatrix(h []float64) error {
	for _, k := range s.blocks {
		for i := k.offset; i < k.offset+k.size(); i++ {
			if err := checkFinite(h[i*(s.params+1):][:1], k); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *spectral) factor(_ context.Context, c scales) (factor, error) {
	return spectralFactor{s, c}, nil
}

// spectralFactor has the spectrum t²h of H̃ in each block.
type spectralFactor struct {
	*spectral
	scales scales // of the hyper-parameters
}

func (f spectralFactor) logDet() float64 {
	sum := 0.0
	for i := range f.h {
		r := f.ratio(i)
		for _, h := range f.h[i] {
			sum += math.Log1p(h / r)
		}
	}
	return sum
}

// ratio is s/t² of block i.
func (f spectralFactor) ratio(i int) float64 {
	t := f.scales.of(i)
	return f.scales.s / (t * t)
}

func (f spectralFactor) effective(ctx context.Context) float64 { return kernel.Sum(f.shares(ctx)) }

func (f spectralFactor) shares(context.Context) (out []float64) {
	for i := range f.h {
		sum, r := 0.0, f.ratio(i)
		for _, h := range f.h[i] {
			sum += h / (h + r)
		}
		out = append(out, sum)
	}
	return out
}

func (f spectralFactor) predictor() predictor {
	p := spectralPredictor{spectral: f.spectral}
	for i, spectrum := range f.h {
		v, r := make([]float64, len(spectrum)), f.ratio(i)
		for k, h := range spectrum {
			v[k] = f.scales.s / (h + r)
		}
		p.v = append(p.v, v)
	}
	return p
}

// spectralPredictor has the variances of the weights, over σ₀², in the basis.
type spectralPredictor struct {
	*spectral
	v [][]float64 // by block, [p·q]
}

// predictorBytes is the memory of a predictor.
func (s *spectral) predictorBytes() int64 { return 8 * int64(s.params) }

// rotated returns a factor's rows [·,width] in the basis, in memory of the batch.
func (p spectralPredictor) rotated(b batch, n *graph.Node, width int) []float64 {
	v, basis := rows[float64](b, n), p.basis[n]
	out := b.take(len(v))
	if basis == nil {
		copy(out, v)
	} else {
		kernel.Gemm(false, false, len(v)/width, width, width, 1, v, width, basis, width, 0, out, width)
	}
	return out
}

// marginals: with a and d in the basis, the covariance of outputs c and c' is
//
//	Σ_ij v_ij a_i² d_cj d_c'j = Σ_j u_j d_cj d_c'j,   u = vᵀ a²,
//
// summed over the blocks. The blocks of one group have the same d.
func (p spectralPredictor) marginals(b batch, cov []float64) error {
	c := b.outputs
	clear(cov[:b.count*c*c])
	for _, g := range p.groups {
		if p.blocks[g.blocks[0]].places > 1 {
			for _, i := range g.blocks {
				p.addConvolved(b, i, cov)
			}
			continue
		}
		q, u := g.q, p.spread(b, g)
		if b.isUnit(g.d) {
			p.addUnitCovariances(b, g, u, cov)
			continue
		}
		d := p.rotated(b, g.d, q)
		kernel.Sqrt(u, u)
		for r := range b.size() {
			row, scale := d[r*q:(r+1)*q], u[r/c*q:(r/c+1)*q]
			kernel.Mul(row, scale, row)
		}
		for i := range b.count {
			kernel.Syrk(false, c, q, 1, d[i*c*q:], q, 1, cov[i*c*c:], c)
		}
	}
	return b.checkCovariance(cov)
}

// marginalBytes is the memory that marginals takes for so many examples.
func (p spectralPredictor) marginalBytes(examples int) int64 {
	numbers, c, threads := 0, p.outputs, min(kernel.Threads(), examples)
	take := func(rows int, read, rotated bool, width int) { // of a factor, in float64 and in the basis
		for _, taken := range []bool{read && p.float == tensor.Float32, rotated} {
			if taken {
				numbers += examples * rows * width
			}
		}
	}
	for _, g := range p.groups {
		placed := p.blocks[g.blocks[0]].places > 1
		if !placed {
			numbers += examples * g.q // u
			if g.d != p.unit {
				take(c, true, true, g.q)
			} else if p.basis[g.d] != nil {
				numbers += c * c
			}
		}
		for _, i := range g.blocks {
			k := p.blocks[i]
			w, _, _ := k.wayOf(c)
			if k.tokens != nil {
				take(1, true, false, k.tokens.Shape()[1])
			} else if k.a != nil {
				take(k.places, true, w != rowsFirst || !placed, k.p)
			}
			if placed {
				take(c*k.places, true, w != rowsFirst, k.q)
				numbers += k.size() + threads*k.scratch(w, c, k.atOnce(c))
			}
		}
	}
	return gp.Numbers(numbers)
}

// addUnitCovariances adds the covariances of a group g with unit cotangents, whose rows in the basis are the basis, to cov.
func (p spectralPredictor) addUnitCovariances(b batch, g group, u, cov []float64) {
	c, basis := b.outputs, p.basis[g.d]
	if basis == nil {
		for r, v := range u {
			cov[r*c+r%c] += v
		}
		return
	}
	kernel.Sqrt(u, u)
	scaled := b.take(c * c)
	for i := range b.count {
		for k := range c {
			kernel.Mul(scaled[k*c:(k+1)*c], basis[k*c:(k+1)*c], u[i*c:(i+1)*c])
		}
		kernel.Syrk(false, c, c, 1, scaled, c, 1, cov[i*c*c:], c)
	}
}

// variances implements byVariance.
func (p spectralPredictor) variances(b batch, v []float64) bool {
	c := b.outputs
	for _, g := range p.groups {
		if p.blocks[g.blocks[0]].places > 1 {
			return false
		}
	}
	clear(v)
	for _, g := range p.groups {
		q, u := g.q, p.spread(b, g)
		if b.isUnit(g.d) && p.basis[g.d] == nil {
			kernel.Add(v, v, u)
			continue
		}
		if b.isUnit(g.d) {
			squares := b.take(c * q)
			kernel.Square(squares, p.basis[g.d])
			kernel.Gemm(false, true, b.count, c, q, 1, u, q, squares, q, 1, v, c)
			continue
		}
		d := p.rotated(b, g.d, q)
		kernel.Square(d, d)
		for r := range b.size() {
			v[r] += kernel.Dot(d[r*q:(r+1)*q], u[r/c*q:(r/c+1)*q])
		}
	}
	return true
}

// spread returns u for a group, [count·q].
func (p spectralPredictor) spread(b batch, g group) []float64 {
	q := g.q
	u := b.take(b.count * q)
	clear(u)
	for _, i := range g.blocks {
		k := p.blocks[i]
		if k.tokens != nil {
			p.addVariances(b, i, u)
			continue
		}
		if k.a == nil {
			for r := range b.count {
				kernel.Add(u[r*q:(r+1)*q], p.v[i], u[r*q:(r+1)*q])
			}
			continue
		}
		a := p.rotated(b, k.a, k.p)
		kernel.Square(a, a)
		kernel.Gemm(false, false, b.count, q, k.p, 1, a, k.p, p.v[i], q, 1, u, q)
	}
	return u
}

// checkCovariance names the example of which a derivative is not finite.
func (b batch) checkCovariance(cov []float64) error {
	c := b.outputs
	if i, v := kernel.FirstNonFinite(cov[:b.count*c*c]); i >= 0 {
		return fmt.Errorf("laplace: example %d: the variance of output %d is %g", b.first+i/(c*c), i/c%c, v)
	}
	return nil
}

// checkVariances is checkCovariance for variances v [count·C].
func (b batch) checkVariances(v []float64) error {
	if i, x := kernel.FirstNonFinite(v); i >= 0 {
		return fmt.Errorf("laplace: example %d: the variance of output %d is %g", b.first+i/b.outputs, i%b.outputs, x)
	}
	return nil
}

func (p spectralPredictor) width() int { return p.params }

// root: the columns of F are √v_ij a_i d_cj.
func (p spectralPredictor) root(b batch, f []float64) error {
	for i, k := range p.blocks {
		if k.places > 1 {
			p.formRows(b, i, p.stds(b, i), f[k.offset:], p.params)
			continue
		}
		d, q, std := p.rotated(b, k.d, k.q), k.q, make([]float64, k.size())
		kernel.Sqrt(std, p.v[i])
		if k.tokens != nil {
			k.spread(b, d, std, f)
			continue
		}
		a := []float64{1}
		if k.a != nil {
			a = p.rotated(b, k.a, k.p)
		}
		for r := range b.size() {
			row := f[r*p.params+k.offset:]
			for l := range k.p {
				part, scale := row[l*q:(l+1)*q], a[l]
				if k.a != nil {
					scale = a[r/b.outputs*k.p+l]
				}
				kernel.Mul(part, std[l*q:(l+1)*q], d[r*q:(r+1)*q])
				kernel.Scale(part, scale, part)
			}
		}
	}
	return nil
}
