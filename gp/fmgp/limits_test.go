package fmgp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// newLayer draws a layer of m points of three inputs, with two features or without, for c
// outputs, and n more points.
func newLayer(t *testing.T, m, n, c int, features bool) (l *sparseGP, u *tensor.Dense) {
	t.Helper()
	e := 0
	if features {
		e = 2
	}
	rng := rand.New(rand.NewPCG(uint64(m), uint64(c+e)))
	k, class := newCovariance(3, e, c, 1.5, 0.7, tensor.Float64), make([]int, m)
	for i := range class {
		class[i] = i % c
	}
	l, err := newSparseGP(k, small.Normal(rng, tensor.Float64, m, k.Width()), class)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range l.Params()[1:] {
		for i := range p.Value.Size() {
			p.Set(i, p.At(i)+0.2*rng.NormFloat64())
		}
	}
	return l, small.Normal(rng, tensor.Float64, n, k.Width())
}

// TestKernel: every block is the formula, number by number, also with the point itself.
func TestKernel(t *testing.T) {
	for _, features := range []bool{false, true} {
		l, u := newLayer(t, 5, 4, 3, features)
		k, c := l.Kernel, 3
		at := func(a, b []float64, i, j int) float64 {
			sum, dot, s := 0.0, 0.0, 0.0
			for d := range k.Inputs {
				sum += math.Pow((a[d]-b[d])/math.Exp(k.LogLength.At(d)), 2)
			}
			for d := k.Inputs; d < k.Width(); d++ {
				dot += a[d] * b[d]
			}
			for m := range min(i, j) + 1 {
				s += k.R.At(dense.Packed(i)+m) * k.R.At(dense.Packed(j)+m)
			}
			switch {
			case !features:
				dot = 1
			case i == j:
				dot++
			}
			return k.Amplitude() * math.Exp(-sum/2) * s * dot
		}
		row := func(t *tensor.Dense, i int) []float64 { return t.Float64s()[i*k.Width() : (i+1)*k.Width()] }
		var diag, cross, gram []float64
		for n := range 4 {
			for i := range c {
				for j := range c {
					diag = append(diag, at(row(u, n), row(u, n), i, j))
				}
				for m, o := range l.Class {
					cross = append(cross, at(row(u, n), row(l.Z.Value, m), i, o))
				}
			}
		}
		for m, o := range l.Class {
			for p, q := range l.Class {
				gram = append(gram, at(row(l.Z.Value, m), row(l.Z.Value, p), o, q))
			}
		}
		b := graph.NewBuilder(tensor.Float64)
		un, z := small.Given(b, "u", u), b.Param(l.Z)
		got := small.Values(t, b, k.Diag(b, un), k.Cross(b, un, z, l.Class), k.Gram(b, z, l.Class))
		for i, want := range [][]float64{diag, cross, gram} {
			fixture.Close(t, fmt.Sprint("block ", i, ", features ", features), got[i], want, 1e-13)
		}
	}
}

// TestGradients: the gradients of the objective in every parameter, in the points and in the
// targets' mean agree with finite differences.
func TestGradients(t *testing.T) {
	for _, features := range []bool{false, true} {
		for _, classes := range []bool{false, true} {
			l, u := newLayer(t, 4, 3, 2, features)
			var lik likelihood.Likelihood = likelihood.NewGaussian(0.3, tensor.Float64)
			y := small.Normal(rand.New(rand.NewPCG(1, 1)), tensor.Float64, 3, 2)
			if classes {
				lik, y = likelihood.Softmax{}, small.OneHot([]int{0, 1, 1}, 2, tensor.Float64)
			}
			mean := small.Normal(rand.New(rand.NewPCG(2, 1)), tensor.Float64, 3, 2)
			point := &graph.Param{Name: "u", Value: u}
			b := graph.NewBuilder(tensor.Float64)
			loss := l.Loss(b, b.Param(point), small.Given(b, "y", y), small.Given(b, "mean", mean), lossOptions{Likelihood: lik, Alpha: 0.7, N: 10}).Loss
			params := append(append(l.Params(), lik.Params()...), point)
			var nodes []*graph.Node
			for _, p := range params {
				nodes = append(nodes, b.Param(p))
			}
			grads := small.Values(t, b, graph.Grad(b, loss, nodes...)...)
			prog, err := graph.Compile(b, []*graph.Node{loss}, graph.Options{Varying: nodes})
			if err != nil {
				t.Fatal(err)
			}
			at := func(p *graph.Param, i int, v float64) float64 {
				p.Set(i, v)
				if err := prog.Run(); err != nil {
					t.Fatal(err)
				}
				return prog.Scalar(loss)
			}
			const h = 1e-5
			for k, p := range params {
				numeric := make([]float64, p.Value.Size())
				for i := range numeric {
					v := p.At(i)
					numeric[i] = (at(p, i, v+h) - at(p, i, v-h)) / (2 * h)
					p.Set(i, v)
				}
				fixture.Close(t, fmt.Sprint(p.Name, ", features ", features, ", classes ", classes), grads[k], numeric, 1e-7)
			}
		}
	}
}

// TestNoData: with L = 0 the posterior is the prior and has no divergence, and far from the
// inducing points it is the prior whatever L is.
func TestNoData(t *testing.T) {
	for _, features := range []bool{false, true} {
		l, u := newLayer(t, 5, 6, 2, features)
		far := u.Clone().(*tensor.Dense)
		for i := range far.Shape()[0] {
			far.Float64s()[i*l.Kernel.Width()] += 100
		}
		b := graph.NewBuilder(tensor.Float64)
		away, at := l.Terms(b, small.Given(b, "far", far)), l.Terms(b, small.Given(b, "u", u))
		got := small.Values(t, b, away.Q, away.Kx, at.Q, at.Kx)
		fixture.Close(t, "far away", got[0], got[1], 1e-12)
		if fixture.RelErr(got[2], got[3]) < 0.01 {
			t.Error("near the points the posterior is the prior: the test shows nothing")
		}
		for i := range l.L.Value.Size() {
			l.L.Set(i, 0)
		}
		b = graph.NewBuilder(tensor.Float64)
		none := l.Terms(b, small.Given(b, "u", u))
		got = small.Values(t, b, none.Q, none.Kx, none.KL)
		fixture.Close(t, "L = 0", got[0], got[1], 0)
		if got[2][0] != 0 {
			t.Errorf("L = 0: divergence %g", got[2][0])
		}
	}
}

// exact is the covariance at u given noisy values of all outputs at x, by dense algebra.
func exact(t *testing.T, k *covariance, x, u *tensor.Dense, noise []float64) *mat.Dense {
	t.Helper()
	n, m, c := x.Shape()[0], u.Shape()[0], k.Outputs
	both := dense.Of(append(slices.Clone(x.Float64s()), u.Float64s()...), n+m, k.Width())
	b := graph.NewBuilder(tensor.Float64)
	z := small.Given(b, "z", both)
	copies := b.Reshape(b.BroadcastTo(b.Reshape(z, n+m, 1, k.Width()), n+m, c, k.Width()), (n+m)*c, k.Width())
	class := make([]int, (n+m)*c)
	for i := range class {
		class[i] = i % c
	}
	full := mat.NewDense((n+m)*c, (n+m)*c, small.Values(t, b, k.Gram(b, copies, class))[0])
	kx := mat.DenseCopyOf(full.Slice(0, n*c, 0, n*c))
	for i := range n * c {
		kx.Set(i, i, kx.At(i, i)+noise[i])
	}
	cross := full.Slice(n*c, (n+m)*c, 0, n*c)
	var half, q mat.Dense
	if err := half.Solve(kx, cross.T()); err != nil {
		t.Fatal(err)
	}
	q.Mul(cross, &half)
	q.Sub(full.Slice(n*c, (n+m)*c, n*c, (n+m)*c), &q)
	return &q
}

// TestExact: with an inducing point for every output at every training row and L = I/σ the
// joint covariance is the covariance of the exact Gaussian process of several outputs.
func TestExact(t *testing.T) {
	for _, features := range []bool{false, true} {
		const n, c, noise = 6, 2, 0.3
		l, u := newLayer(t, n*c, 4, c, features)
		z := l.Z.Value.Float64s()
		var x []float64
		for i := range n { // the points 2i and 2i+1 carry the outputs of one row
			row := z[2*i*l.Kernel.Width():][:l.Kernel.Width()]
			copy(z[(2*i+1)*l.Kernel.Width():], row)
			x = append(x, row...)
		}
		for i := range l.L.Value.Size() {
			l.L.Set(i, 0)
		}
		variances := make([]float64, n*c)
		for i := range variances {
			variances[i] = noise
			l.L.Set(dense.Packed(i+1)-1, 1/math.Sqrt(noise))
		}
		p := &posterior{layer: l, limit: gp.Run{}.Limit() / 4}
		at := points{x: u, g: dense.Of(make([]float64, 4*c), 4, c)}
		_, cov, err := p.joint(at)
		if err != nil {
			t.Fatal(err)
		}
		want := exact(t, l.Kernel, dense.Of(x, n, l.Kernel.Width()), u, variances)
		fixture.Close(t, fmt.Sprint("features ", features), cov.Float64s(), want.RawMatrix().Data, 1e-10)
	}
}

// TestKnown: E₀ with an inducing point at every row is the exact variance given targets. The
// targets' noise at each row is V's noise.
func TestKnown(t *testing.T) {
	const n, noise = 7, 0.2
	l, u := newLayer(t, n, 4, 1, false)
	x := l.Z.Value
	p := &posterior{layer: l, limit: gp.Run{}.Limit() / 4}
	if err := p.findKnown(t.Context(), points{x: x, g: dense.Of(make([]float64, n), n, 1)}, slices.Repeat([]float64{noise}, n), 1); err != nil {
		t.Fatal(err)
	}
	b := graph.NewBuilder(tensor.Float64)
	v := small.Values(t, b, l.Terms(b, small.Given(b, "x", x)).Q)[0]
	sum := 0.0
	for i := range v {
		v[i] += noise
		sum += v[i] / n
	}
	fixture.Close(t, "ν", []float64{p.scatter}, []float64{sum}, 1e-12)
	want, all := exact(t, l.Kernel, x, u, v), make([]float64, 4)
	for i := range all {
		all[i] = want.At(i, i)
	}
	p.wide = l
	b = graph.NewBuilder(tensor.Float64)
	fixture.Close(t, "E₀", small.Values(t, b, p.outputs(b, small.Given(b, "u", u), false)[2])[0], all, 1e-9)
}
