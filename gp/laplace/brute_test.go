package laplace

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// brute is LLA by its definition: dense Jacobians, Λ, an explicit H for each structure
// and explicit inverses.
type brute struct {
	problem
	o        options
	cols     []int // the chosen weights, as columns of the whole Jacobian
	examples int
	outputs  int
	g        []float64  // outputs at x
	j        *mat.Dense // [N·C, P] at x
	noise    float64
	stds     []float64  // σ₀ of the chosen weights
	given    *mat.Dense // H, if not nil
}

func newBrute(t *testing.T, p problem, o options) *brute {
	t.Helper()
	r := &brute{problem: p, o: o, examples: p.x.Shape()[0], outputs: p.y.Shape()[1], noise: o.NoiseStd}
	if !noisy(o.Likelihood) {
		r.noise = 1
	}
	chosen, first := map[*graph.Param]bool{}, 0
	params, err := layers.Choose(p.net, o.Weights...)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range params {
		chosen[w] = true
	}
	for _, w := range p.net.Params() {
		for i := range w.Value.Shape().TotalSize() {
			if chosen[w] {
				r.cols = append(r.cols, first+i)
			}
		}
		first += w.Value.Shape().TotalSize()
	}
	g, j := p.denseJacobian(t, p.x)
	r.g, r.j = g, r.choose(j)
	r.stds = slices.Repeat([]float64{o.PriorStd}, len(r.cols))
	return r
}

// choose returns the columns of the chosen weights.
func (r *brute) choose(j *mat.Dense) *mat.Dense {
	n, _ := j.Dims()
	out := mat.NewDense(n, len(r.cols), nil)
	for i, c := range r.cols {
		for k := range n {
			out.Set(k, i, j.At(k, c))
		}
	}
	return out
}

// lambda is Λ of example n, without the noise.
func (r *brute) lambda(n int) *mat.Dense {
	c := r.outputs
	out := mat.NewDense(c, c, nil)
	if b, ok := r.o.Likelihood.(bernoulli); ok {
		b.Curvature(out.RawMatrix().Data, r.g[n*c:(n+1)*c])
		return out
	}
	sum := 0.0
	for k := range c {
		sum += math.Exp(r.g[n*c+k])
	}
	for a := range c {
		for b := range c {
			same := 0.0
			if a == b {
				same = 1
			}
			pa, pb := math.Exp(r.g[n*c+a])/sum, math.Exp(r.g[n*c+b])/sum
			if !noisy(r.o.Likelihood) {
				same = same*pa - pa*pb
			}
			out.Set(a, b, same)
		}
	}
	return out
}

// ggn is Σ J_nᵀ Λ_n J_n for Jacobians of any columns.
func (r *brute) ggn(j *mat.Dense) *mat.Dense {
	_, p := j.Dims()
	h := mat.NewDense(p, p, nil)
	for n := range r.examples {
		jn := j.Slice(n*r.outputs, (n+1)*r.outputs, 0, p)
		var half, term mat.Dense
		half.Mul(jn.T(), r.lambda(n))
		term.Mul(&half, jn)
		h.Add(h, &term)
	}
	return h
}

// h is H in the structure asked for.
func (r *brute) h(t *testing.T) *mat.Dense {
	if r.given != nil {
		return r.given
	}
	switch r.o.Structure {
	case kindDiagonal:
		h := r.ggn(r.j)
		for i := range r.cols {
			for k := range r.cols {
				if i != k {
					h.Set(i, k, 0)
				}
			}
		}
		return h
	case kindKFAC:
		return r.kfac(t)
	case kindLowRank:
		return r.truncated(t, r.ggn(r.j))
	}
	return r.ggn(r.j)
}

// truncated is H without all but its largest eigenvalues.
func (r *brute) truncated(t *testing.T, h *mat.Dense) *mat.Dense {
	n, _ := h.Dims()
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(n, h.RawMatrix().Data), true) {
		t.Fatal("no eigenvectors")
	}
	var v, out mat.Dense
	eig.VectorsTo(&v)
	values := eig.Values(nil) // ascending
	out.Mul(h, mat.NewDense(n, n, nil))
	for i := max(0, n-r.o.Rank); i < n; i++ {
		var term mat.Dense
		term.Outer(values[i], v.ColView(i), v.ColView(i))
		out.Add(&out, &term)
	}
	return &out
}

// kfac is the block-diagonal of A⊗G and G for the perceptron of one hidden layer that
// newProblem makes, with activations and cotangents by hand.
func (r *brute) kfac(t *testing.T) *mat.Dense {
	hidden, last := r.net[0].(layers.Dense), r.net[2].(layers.Dense)
	x := mat.NewDense(r.examples, hidden.W.Value.Shape()[0], r.x.Float64s())
	w2 := mat.NewDense(hidden.W.Value.Shape()[1], r.outputs, last.W.Floats())
	var a mat.Dense
	a.Mul(x, mat.NewDense(hidden.W.Value.Shape()[0], hidden.W.Value.Shape()[1], hidden.W.Floats()))
	bias := hidden.B.Floats()
	a.Apply(func(_, j int, v float64) float64 { return math.Tanh(v + bias[j]) }, &a)
	width := len(bias)
	d1 := mat.NewDense(r.examples*r.outputs, width, nil)
	d2 := mat.NewDense(r.examples*r.outputs, r.outputs, nil)
	for row := range r.examples * r.outputs {
		d2.Set(row, row%r.outputs, 1)
		for j := range width {
			v := a.At(row/r.outputs, j)
			d1.Set(row, j, w2.At(j, row%r.outputs)*(1-v*v))
		}
	}
	block := func(a *mat.Dense, d *mat.Dense) []*mat.Dense {
		var moment, kron mat.Dense
		g := r.ggn(d)
		moment.Mul(a.T(), a)
		moment.Scale(1/float64(r.examples), &moment)
		kron.Kronecker(&moment, g)
		return []*mat.Dense{&kron, g}
	}
	return r.blockDiagonal(append(block(x, d1), block(&a, d2)...))
}

func (r *brute) blockDiagonal(blocks []*mat.Dense) *mat.Dense {
	size := 0
	for _, b := range blocks {
		size += b.RawMatrix().Rows
	}
	whole, at := mat.NewDense(size, size, nil), 0
	for _, b := range blocks {
		n := b.RawMatrix().Rows
		whole.Slice(at, at+n, at, at+n).(*mat.Dense).Copy(b)
		at += n
	}
	var rows mat.Dense
	rows.CloneFrom(r.choose(whole).T()) // choose twice: columns, then rows
	return r.choose(&rows)
}

// check compares a posterior's marginal likelihood and predictions.
func (r *brute) check(t *testing.T, what string, p *posterior, tol float64) {
	t.Helper()
	var precision, sigma, half, cov mat.Dense
	precision.Scale(1/(r.noise*r.noise), r.h(t))
	prior := 0.0 // log of the determinant of its covariance
	for i, std := range r.stds {
		precision.Set(i, i, precision.At(i, i)+1/(std*std))
		prior += 2 * math.Log(std)
	}
	if err := sigma.Inverse(&precision); err != nil {
		t.Fatal(err)
	}
	mean, jp := r.denseJacobian(t, r.probe)
	jp = r.choose(jp)
	half.Mul(jp, &sigma)
	cov.Mul(&half, jp.T())
	logDet, _ := mat.LogDet(&precision)
	lml := r.logLikelihood() - 0.5*(logDet+prior+r.norm())
	fixture.Close(t, what+": lml", one(p.LogMarginalLikelihood()), one(lml), tol)
	m, c := small.Moments(t, p, r.probe)
	fixture.Close(t, what+": mean", m, mean, tol)
	all := cov.RawMatrix().Data
	fixture.Close(t, what+": covariance", c, blocks(all, r.probe.Shape()[0], r.outputs), tol)
	_, joint, err := p.Joint(t.Context(), r.probe)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, what+": joint covariance", joint.Float64s(), all, tol)
}

// norm is Σ θ̂²/σ₀² of the chosen weights.
func (r *brute) norm() float64 {
	var all []float64
	for _, w := range r.net.Params() {
		all = append(all, w.Floats()...)
	}
	sum := 0.0
	for i, c := range r.cols {
		sum += all[c] * all[c] / (r.stds[i] * r.stds[i])
	}
	return sum
}

func (r *brute) logLikelihood() float64 {
	sum := 0.0
	if b, ok := r.o.Likelihood.(bernoulli); ok {
		return b.LogDensity(r.y.Float64s(), r.g)
	}
	for i, y := range r.y.Float64s() {
		if noisy(r.o.Likelihood) {
			sum -= (y-r.g[i])*(y-r.g[i])/(2*r.noise*r.noise) + math.Log(r.noise*math.Sqrt(2*math.Pi))
		} else if y == 1 {
			n, total := i/r.outputs, 0.0
			for k := range r.outputs {
				total += math.Exp(r.g[n*r.outputs+k])
			}
			sum += r.g[i] - math.Log(total)
		}
	}
	return sum
}

// newClasses is newProblem with random classes for targets.
func newClasses(t testing.TB, seed uint64, dt tensor.Dtype, n, hidden, c int) problem {
	p := newProblem(t, seed, dt, n, hidden, c)
	y := p.y.Float64s()
	for i := 0; i < len(y); i += c {
		class := int(1e6*math.Abs(y[i])) % c
		clear(y[i : i+c])
		y[i+class] = 1
	}
	return p
}
