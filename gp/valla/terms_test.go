package valla

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// drawToy draws a toy whose L is large, small or zero.
func drawToy(t *rapid.T) *toy {
	s := size{rapid.IntRange(1, 3).Draw(t, "outputs"), rapid.IntRange(1, 7).Draw(t, "inducing")}
	p := newToy(t, rapid.Uint64().Draw(t, "seed"), tensor.Float64, s)
	scale := rapid.SampledFrom([]float64{0, 1e-3, 1, 30}).Draw(t, "scale of L")
	for i, v := range p.layer.L.Floats() {
		p.layer.L.Set(i, scale*v)
	}
	p.layer.LogPriorStd.Set(0, rapid.Float64Range(-3, 2).Draw(t, "log prior std"))
	return p
}

// scale is the largest trace of a prior covariance; rounding is relative to it.
func (s state) scale() float64 {
	top := 0.0
	for _, k := range s.kx {
		top = max(top, mat.Trace(k))
	}
	return top
}

// TestTerms compares Q and KL with their formulas, written with inverses, and checks
// 0 ≤ Q ≤ K_x and KL ≥ 0.
func TestTerms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawToy(t).state(t)
		zero, rounding := mat.NewSymDense(s.kx[0].SymmetricDim(), nil), 1e-10*s.scale()
		tilde := product(s.low, inverse(t, s.h), s.low.T()) // (A⁻¹ + K_z)⁻¹
		for i := range s.q {
			want := product(s.kxz[i], tilde, s.kxz[i].T())
			want.Sub(s.kx[i], want)
			var diff mat.Dense
			if diff.Sub(s.q[i], want); mat.Max(&diff) > rounding || mat.Min(&diff) < -rounding {
				t.Errorf("Q of example %d is %v, want %v", i, s.q[i], want)
			}
			if least := eigenvalues(t, s.q[i], zero)[0]; least < -rounding {
				t.Errorf("Q of example %d has eigenvalue %g", i, least)
			}
			if least := eigenvalues(t, s.kx[i], s.q[i])[0]; least < -rounding {
				t.Errorf("K_x − Q of example %d has eigenvalue %g", i, least)
			}
		}
		want := 0.5 * (math.Log(mat.Det(s.h)) - mat.Trace(product(s.kz, tilde)))
		if math.Abs(s.kl-want) > 1e-9*max(1, want) {
			t.Errorf("KL = %.15g, want %.15g", s.kl, want)
		}
		if s.kl < -1e-12 {
			t.Errorf("KL = %g", s.kl)
		}
	})
}

// TestNoData: at A = 0 the posterior is the prior, to the last bit.
func TestNoData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawToy(t)
		setDiagonal(p.layer, 0)
		s := p.state(t)
		if s.kl != 0 {
			t.Errorf("KL = %g", s.kl)
		}
		for i := range s.q {
			if !mat.Equal(s.q[i], s.kx[i]) {
				t.Errorf("Q of example %d is %v, K_x %v", i, s.q[i], s.kx[i])
			}
		}
	})
}

// TestMoreDataLessVariance: Q decreases as A grows by a positive semi-definite matrix.
func TestMoreDataLessVariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawToy(t)
		before := p.state(t)
		m := p.layer.Inducing()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed of the growth"), 2))
		g := mat.NewDense(m, m, graph.Floats(small.Normal(rng, tensor.Float64, m, m)))
		grown := product(before.low, before.low.T())
		grown.Add(grown, product(g, g.T()))
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(m, grown.RawMatrix().Data)) {
			t.Fatalf("A is singular")
		}
		var low mat.TriDense
		chol.LTo(&low)
		setLower(p, &low)
		after := p.state(t)
		for i := range after.q {
			if least := eigenvalues(t, before.q[i], after.q[i])[0]; least < -1e-10*before.scale() {
				t.Errorf("example %d: the variance grows; eigenvalue %g of the difference", i, least)
			}
		}
		if after.kl < before.kl-1e-10 {
			t.Errorf("KL falls from %g to %g", before.kl, after.kl)
		}
	})
}

func setLower(p *toy, low mat.Matrix) {
	k := 0
	for i := range p.layer.Inducing() {
		for j := range i + 1 {
			p.layer.L.Set(k, low.At(i, j))
			k++
		}
	}
}

// TestTermsFloat32 compares Q, KL and K_z with float64; the rounding of the prior
// variance is 6e-8 for each of some hundred operations.
func TestTermsFloat32(t *testing.T) {
	for seed := range uint64(5) {
		s := newToy(t, seed, tensor.Float32, size{2, 4}).state(t)
		want := newToy(t, seed, tensor.Float64, size{2, 4}).state(t)
		for i := range s.q {
			fixture.Close(t, "K_x − Q", difference(s.kx[i], s.q[i]), difference(want.kx[i], want.q[i]), 1e-4)
		}
		fixture.Close(t, "K_z", s.kz.RawMatrix().Data, want.kz.RawMatrix().Data, 1e-5)
		fixture.Close(t, "KL", []float64{s.kl}, []float64{want.kl}, 1e-4)
	}
}

func difference(a, b mat.Matrix) []float64 {
	var d mat.Dense
	d.Sub(a, b)
	return d.RawMatrix().Data
}

// TestLossGradient compares the gradient with respect to every parameter with
// differences of fourth order along a random direction, whose error is about h⁴.
func TestLossGradient(t *testing.T) {
	for seed := range uint64(3) {
		for _, alpha := range []float64{0, 0.3, 1} {
			for _, classify := range []bool{false, true} {
				if classify && alpha == 0 {
					continue // Softmax has no such bound; it is an error
				}
				p := newToy(t, seed, tensor.Float64, size{2, 4})
				if classify {
					p = newToy(t, seed, tensor.Float64, size{3, 4})
					p.classify()
				}
				p.checkGradient(t, seed, alpha)
			}
		}
	}
}

func (p *toy) checkGradient(t *testing.T, seed uint64, alpha float64) {
	const h = 1e-3
	b, x, y := p.inputs()
	loss := p.objective(b, x, y, alpha, 50).Loss
	params := append(p.layer.Params(), p.lik.Params()...)
	var wrt []*graph.Node
	for _, q := range params {
		wrt = append(wrt, b.Param(q))
	}
	prog := compile(t, b, append(graph.Grad(b, loss, wrt...), loss)...)
	grads := prog.values(t)
	for i, q := range params {
		dir := graph.Floats(small.Normal(rand.New(rand.NewPCG(seed, 7)), tensor.Float64, len(grads[i])))
		at := func(h float64) float64 {
			return moved(q, dir, h, func() float64 { return prog.values(t)[len(params)][0] })
		}
		want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
		if got := dot(grads[i], dir); math.Abs(got-want) > 1e-7*max(1, math.Abs(want)) {
			t.Errorf("seed %d, %T, α = %g, %s: slope %.12g, differences give %.12g", seed, p.lik, alpha, q.Name, got, want)
		}
	}
}

// moved evaluates f with the parameter moved by h·dir.
func moved(q *graph.Param, dir []float64, h float64, f func() float64) float64 {
	old := q.Floats()
	for i := range old {
		q.Set(i, old[i]+h*dir[i])
	}
	defer func() {
		for i, v := range old {
			q.Set(i, v)
		}
	}()
	return f()
}

func dot(u, v []float64) float64 {
	s := 0.0
	for i := range u {
		s += u[i] * v[i]
	}
	return s
}

// TestLossIsANode: the loss is a node of the network's graph: terms can be added to it, and
// gradients taken with respect to whatever it depends on.
func TestLossIsANode(t *testing.T) {
	p := newToy(t, 3, tensor.Float64, size{1, 3})
	b, x, y := p.inputs()
	loss, noise := p.objective(b, x, y, 1, 50), b.Param(p.lik.Params()[0])
	total := b.Add(loss.Loss, b.Sum(b.Square(b.Param(p.layer.Z)))) // a term of one's own
	before := graph.Grad(b, loss.Loss, b.Param(p.layer.Z), noise)
	after := graph.Grad(b, total, b.Param(p.layer.Z), noise)
	v := compile(t, b, before[0], after[0], before[1], after[1], loss.Loss, total).values(t)
	square := 0.0
	for i, z := range p.layer.Z.Floats() {
		v[0][i] += 2 * z
		square += z * z
	}
	fixture.Close(t, "gradient in Z", v[1], v[0], 1e-12)
	fixture.Close(t, "gradient in log σ²", v[3], v[2], 1e-12)
	fixture.Close(t, "value", v[5], []float64{v[4][0] + square}, 1e-12)
	if q := loss.Q.Shape(); q[0] != toyBatch || q[1] != 1 || q[2] != 1 {
		t.Errorf("covariances %v, expected [%d,1,1]", q, toyBatch)
	}
}
