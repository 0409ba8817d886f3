package likelihood_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

const batch, outputs = 4, 3

// data are targets and a latent Gaussian, row-major.
type data struct{ y, mean, cov []float64 }

// newData draws them; labels are one-hot rows, covariances G Gᵀ.
func newData(seed uint64, oneHot bool) data {
	rng := rand.New(rand.NewPCG(seed, 4))
	d := data{y: fixture.Normal(rng, batch*outputs), mean: fixture.Normal(rng, batch*outputs)}
	for i := range d.mean {
		d.mean[i] *= 3
	}
	for range batch {
		g := fixture.Normal(rng, outputs*outputs)
		for i := range outputs {
			for j := range outputs {
				v := 0.0
				for k := range outputs {
					v += g[i*outputs+k] * g[j*outputs+k]
				}
				d.cov = append(d.cov, v)
			}
		}
	}
	if oneHot {
		clear(d.y)
		for i := range batch {
			d.y[i*outputs+rng.IntN(outputs)] = 1
		}
	}
	return d
}

// variance is Q_cc of example i.
func (d data) variance(i, c int) float64 { return d.cov[(i*outputs+c)*outputs+c] }

// term computes the data terms of the likelihood, [B], and, if wanted, the gradients
// of their weighted sum with respect to mean, cov and the likelihood's parameters.
func (d data) term(t *testing.T, l likelihood.Likelihood, alpha float64, dt tensor.Dtype, weights []float64) (terms []float64, grads [][]float64) {
	t.Helper()
	b := graph.NewBuilder(dt)
	leaf := func(name string, v []float64, shape ...int) *graph.Node {
		return b.Param(graph.NewParam(name, v, dt, shape...))
	}
	mean, cov := leaf("mean", d.mean, batch, outputs), leaf("cov", d.cov, batch, outputs, outputs)
	term := l.DataTerm(b, leaf("y", d.y, batch, outputs), mean, b.Diag(cov), alpha)
	out := []*graph.Node{term}
	if weights != nil {
		wrt := []*graph.Node{mean, cov}
		for _, p := range l.Params() {
			wrt = append(wrt, b.Param(p))
		}
		out = append(out, graph.Grad(b, b.Sum(b.Mul(term, leaf("weights", weights, batch))), wrt...)...)
	}
	p, err := graph.Compile(b, out, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Run(); err != nil {
		t.Fatal(err)
	}
	for _, n := range out[1:] {
		grads = append(grads, graph.Floats(p.Value(n)))
	}
	return graph.Floats(p.Value(term)), grads
}

// logNormal is log N(r; 0, v).
func logNormal(r, v float64) float64 { return -0.5 * (math.Log(2*math.Pi*v) + r*r/v) }

// gaussian is the Gaussian's data term by loops, with the constant c as SPEC.md has it.
func (d data) gaussian(noise, alpha float64) []float64 {
	terms := make([]float64, batch)
	for i := range batch {
		for c := range outputs {
			r, q := d.y[i*outputs+c]-d.mean[i*outputs+c], d.variance(i, c)
			if alpha == 0 {
				terms[i] += logNormal(r, noise) - q/(2*noise)
				continue
			}
			constant := math.Sqrt(2*math.Pi*noise/alpha) / math.Pow(2*math.Pi*noise, alpha/2)
			terms[i] += (logNormal(r, q+noise/alpha) + math.Log(constant)) / alpha
		}
	}
	return terms
}

// softmax is the categorical data term by loops.
func (d data) softmax(alpha float64) []float64 {
	terms := make([]float64, batch)
	for i := range batch {
		f := make([]float64, outputs)
		for c := range f {
			f[c] = d.mean[i*outputs+c] / math.Sqrt(1+math.Pi/8*d.variance(i, c))
		}
		logp := logSoftmax(f)
		for c := range logp {
			f[c] = alpha * logp[c]
		}
		for c, v := range logSoftmax(f) {
			terms[i] += d.y[i*outputs+c] * v / alpha
		}
	}
	return terms
}

func logSoftmax(f []float64) []float64 {
	sum := 0.0
	for _, v := range f {
		sum += math.Exp(v)
	}
	out := make([]float64, len(f))
	for i, v := range f {
		out[i] = v - math.Log(sum)
	}
	return out
}

var alphas = []float64{0, 0.01, 0.3, 0.5, 1}

// In float32 the terms are sums of some numbers near 10, each with an error of 1e-6;
// at α = 0.01 they are multiplied by 100.
var tolerance = map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-4}

func TestGaussian(t *testing.T) {
	for seed := range uint64(3) {
		for _, alpha := range alphas {
			for dt, tol := range tolerance {
				d := newData(seed, false)
				got, _ := d.term(t, likelihood.NewGaussian(0.3, dt), alpha, dt, nil)
				fixture.Close(t, fmt.Sprint("α = ", alpha, " ", dt), got, d.gaussian(0.3, alpha), tol)
			}
		}
	}
}

func TestSoftmax(t *testing.T) {
	for seed := range uint64(3) {
		for _, alpha := range alphas[1:] {
			for dt, tol := range tolerance {
				d := newData(seed, true)
				got, _ := d.term(t, likelihood.Softmax{}, alpha, dt, nil)
				fixture.Close(t, fmt.Sprint("α = ", alpha, " ", dt), got, d.softmax(alpha), tol)
			}
		}
	}
}

// TestGaussianLimit: the terms approach those of the bound like α.
func TestGaussianLimit(t *testing.T) {
	d, l := newData(1, false), likelihood.NewGaussian(0.3, tensor.Float64)
	want, _ := d.term(t, l, 0, tensor.Float64, nil)
	last := math.Inf(1)
	for _, alpha := range []float64{1e-2, 1e-3, 1e-4, 1e-5} {
		got, _ := d.term(t, l, alpha, tensor.Float64, nil)
		err := fixture.RelErr(got, want)
		if err > 0.2*last { // a tenth, but for terms in α²
			t.Errorf("α = %g: relative difference from the bound %g, %g at ten times α", alpha, err, last)
		}
		last = err
	}
}

// TestPlainLikelihood: at α = 1 the terms are log densities: log N(y; g, Q + σ²) and
// log softmax(F)_y; without variance, of the network alone.
func TestPlainLikelihood(t *testing.T) {
	d := newData(2, false)
	got, _ := d.term(t, likelihood.NewGaussian(0.3, tensor.Float64), 1, tensor.Float64, nil)
	for i := range batch {
		want := 0.0
		for c := range outputs {
			want += logNormal(d.y[i*outputs+c]-d.mean[i*outputs+c], d.variance(i, c)+0.3)
		}
		fixture.Close(t, "Gaussian", got[i:i+1], []float64{want}, 1e-13)
	}
	d = newData(2, true)
	clear(d.cov)
	got, _ = d.term(t, likelihood.Softmax{}, 1, tensor.Float64, nil)
	for i := range batch {
		for c, v := range logSoftmax(d.mean[i*outputs : (i+1)*outputs]) {
			if d.y[i*outputs+c] == 1 {
				fixture.Close(t, "softmax without variance", got[i:i+1], []float64{v}, 1e-13)
			}
		}
	}
}

// TestGradients compares with central differences of second order: an error of h²
// and rounding of 1e-15/h.
func TestGradients(t *testing.T) {
	const h = 1e-5
	weights := []float64{1, -0.5, 2, 0.7}
	for _, alpha := range alphas {
		for _, oneHot := range []bool{false, true} {
			d := newData(3, oneHot)
			var l likelihood.Likelihood = likelihood.NewGaussian(0.3, tensor.Float64)
			if oneHot {
				if alpha == 0 {
					continue // an error, see TestErrors
				}
				l = likelihood.Softmax{}
			}
			value := func() float64 {
				terms, _ := d.term(t, l, alpha, tensor.Float64, nil)
				sum := 0.0
				for i, v := range terms {
					sum += weights[i] * v
				}
				return sum
			}
			_, grads := d.term(t, l, alpha, tensor.Float64, weights)
			for k, v := range [][]float64{d.mean, d.cov} {
				want := make([]float64, len(v))
				for i, x := range v {
					v[i] = x + h
					up := value()
					v[i] = x - h
					want[i], v[i] = (up-value())/(2*h), x
				}
				fixture.Close(t, fmt.Sprintf("%T, α = %g, gradient in %s", l, alpha, []string{"mean", "cov"}[k]), grads[k], want, 1e-8)
			}
			for k, p := range l.Params() {
				x := p.At(0)
				p.Set(0, x+h)
				up := value()
				p.Set(0, x-h)
				want := (up - value()) / (2 * h)
				p.Set(0, x)
				fixture.Close(t, fmt.Sprintf("%T, α = %g, gradient in %s", l, alpha, p.Name), grads[2+k], []float64{want}, 1e-8)
			}
		}
	}
}

// TestProbitLogits: scaled by hand; a large variance leaves nothing of the logits.
func TestProbitLogits(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	mean := b.Const("mean", []float64{2, -3}, 1, 2)
	cov := b.Const("cov", []float64{8 / math.Pi * 3, 0.5, 0.5, 0}, 1, 2, 2) // 1 + (π/8) Q is 4 and 1
	f := likelihood.ProbitLogits(b, mean, b.Diag(cov))
	p, err := graph.Compile(b, []*graph.Node{f}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "logits", graph.Floats(p.Value(f)), []float64{1, -3}, 1e-15)
}

func TestVariance(t *testing.T) {
	g := likelihood.NewGaussian(0.3, tensor.Float64)
	if v := g.Variance(); math.Abs(v-0.3) > 1e-15 {
		t.Errorf("variance %g", v)
	}
	g.LogVariance.Set(0, -5)
	if v := g.Variance(); v != math.Exp(-5) {
		t.Errorf("variance %g, want e⁻⁵", v)
	}
	if p := g.Params(); len(p) != 1 || p[0] != g.LogVariance {
		t.Errorf("parameters %v", p)
	}
	if p := (likelihood.Softmax{}).Params(); len(p) != 0 {
		t.Errorf("parameters of softmax: %v", p)
	}
}

func TestErrors(t *testing.T) {
	gauss := likelihood.NewGaussian(1, tensor.Float64)
	shapes := "targets of shape %s, mean %s and variance %s, expected [B,C], [B,C] and [B,C]"
	for _, l := range []likelihood.Likelihood{gauss, likelihood.Softmax{}} {
		for _, c := range []struct {
			y, mean, variance []int
			alpha             float64
			want              string
		}{
			{[]int{4, 3}, []int{4, 3}, []int{4, 3}, -0.1, "α = -0.1 is out of range"},
			{[]int{4, 3}, []int{4, 3}, []int{4, 3}, 1.5, "α = 1.5 is out of range"},
			{[]int{4, 3}, []int{4, 3}, []int{4, 3}, math.NaN(), "α = NaN is out of range"},
			{[]int{4, 1}, []int{4, 3}, []int{4, 3}, 1, fmt.Sprintf(shapes, "(4, 1)", "(4, 3)", "(4, 3)")},
			{[]int{3}, []int{4, 3}, []int{4, 3}, 1, fmt.Sprintf(shapes, "(3)", "(4, 3)", "(4, 3)")},
			{[]int{4, 3}, []int{4, 3}, []int{4, 3, 3}, 1, fmt.Sprintf(shapes, "(4, 3)", "(4, 3)", "(4, 3, 3)")},
			{[]int{4, 3}, []int{4, 3}, []int{1, 3}, 1, fmt.Sprintf(shapes, "(4, 3)", "(4, 3)", "(1, 3)")},
			{[]int{4}, []int{4}, []int{4}, 1, fmt.Sprintf(shapes, "(4)", "(4)", "(4)")},
		} {
			b := graph.NewBuilder(tensor.Float64)
			n := l.DataTerm(b, b.Fill(1, c.y...), b.Fill(2, c.mean...), b.Fill(3, c.variance...), c.alpha)
			if n != nil || b.Err() == nil || !strings.Contains(b.Err().Error(), c.want) {
				t.Errorf("%T: node %v, error %v, want %q in it", l, n, b.Err(), c.want)
			}
		}
		b := graph.NewBuilder(tensor.Float64)
		if l.DataTerm(b, nil, b.Fill(1, 4, 3), b.Fill(1, 4, 3), 1); b.Err() == nil {
			t.Errorf("%T: no error for targets that are nil", l)
		}
		b = graph.NewBuilder(tensor.Float64)
		b.Failf("first")
		if n := l.DataTerm(b, nil, nil, nil, 1); n != nil || b.Err().Error() != "first" {
			t.Errorf("%T after an error: node %v, error %v", l, n, b.Err())
		}
	}
	b := graph.NewBuilder(tensor.Float64)
	if (likelihood.Softmax{}).DataTerm(b, b.Fill(1, 2, 3), b.Fill(2, 2, 3), b.Fill(3, 2, 3), 0); b.Err() == nil {
		t.Error("softmax with α = 0: no error")
	}
}
