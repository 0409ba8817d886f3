package ella

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// newProblem draws n training rows and 9 validation rows of two inputs for a tanh network of
// one hidden layer with c outputs: classes, or numbers around the network's outputs.
func newProblem(t testing.TB, seed uint64, dt tensor.Dtype, n, hidden, c int, classes bool) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 5))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{hidden}, Outputs: c, Activation: "tanh"}.New(dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.09, dt)}
	if classes {
		p.Likelihood = likelihood.Softmax{}
	}
	draw := func(n int) gp.Examples {
		x, y := normal(rng, dt, n, 2), make([]float64, n*c)
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		if classes {
			clear(y)
			for i := range n {
				y[i*c+rng.IntN(c)] = 1
			}
		}
		return gp.Examples{X: x, Y: graph.Convert(dense.Of(y, n, c), dt)}
	}
	p.Train = draw(n)
	held := draw(9)
	p.Validation = &held
	return p
}

func normal(rng *rand.Rand, dt tensor.Dtype, shape ...int) *tensor.Dense {
	v := make([]float64, tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return graph.Convert(dense.Of(v, shape...), dt)
}

// pointsAt are the training rows of a problem with the given numbers and outputs.
func pointsAt(p gp.Problem, rows, output []int) points {
	return points{z: data.TakeRows(p.Train.X, rows), output: output, outputs: p.Outputs()}
}

// allPairs are all outputs at all training rows.
func allPairs(p gp.Problem) points {
	var rows, output []int
	for i := range p.Train.N() {
		for c := range p.Outputs() {
			rows, output = append(rows, i), append(output, c)
		}
	}
	return pointsAt(p, rows, output)
}

// begun is a fit before its pass over the data.
func begun(t testing.TB, p gp.Problem, s Settings, at points) *fitting {
	t.Helper()
	f := &fitting{p: p, s: s, limit: gp.Run{}.Limit(), candidates: s.candidates(p)}
	if err := f.start(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	return f
}

// fitPoints fits with the given points and returns the posterior.
func fitPoints(t testing.TB, p gp.Problem, s Settings, at points) *posterior {
	t.Helper()
	f, err := fitAt(t.Context(), p, gp.Run{}, s, at)
	if err != nil {
		t.Fatal(err)
	}
	return f.Posterior.(*posterior)
}

func predict(t testing.TB, p gp.Posterior, x *tensor.Dense) (mean, cov []float64) {
	t.Helper()
	g, err := gp.Predict(t.Context(), p, x)
	if err != nil {
		t.Fatal(err)
	}
	return g.Mean, g.Cov
}

// featuresOf are φ at x, [N·C,K].
func featuresOf(t testing.TB, f *jacobian.Directional, x *tensor.Dense) (all []float64) {
	t.Helper()
	if err := f.Each(t.Context(), x, func(_ int, _, phi []float64) error {
		all = append(all, phi...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// jacobianOf is J(x) [N·C,P] by reverse passes, one for each row.
func jacobianOf(t testing.TB, net layers.Network, x *tensor.Dense) []float64 {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	rows := jacobian.NTK{Net: net, Dense: true}.Rows(b, b.Param(&graph.Param{Name: "x", Value: x}))
	prog, err := graph.Compile(b, rows, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	n, p, at := rows[0].Shape()[0], width(net), 0
	out := make([]float64, n*p)
	for _, r := range rows {
		v, w := graph.Floats(prog.Value(r)), r.Shape()[1]
		for i := range n {
			copy(out[i*p+at:], v[i*w:(i+1)*w])
		}
		at += w
	}
	return out
}

// product is A Bᵀ for a [n,k] and b [m,k].
func product(n, m, k int, a, b []float64) []float64 {
	out := make([]float64, n*m)
	kernel.Gemm(false, true, n, m, k, 1, a, k, b, k, 0, out, m)
	return out
}

// blocksOf are the matrices [c,c] on the diagonal of a [n,n].
func blocksOf(a []float64, n, c int) (out []float64) {
	for i := range n {
		first := i / c * c
		out = append(out, a[i*n+first:i*n+first+c]...)
	}
	return out
}

// numbered is the tanh network with the weights W1 [in,out], b1, W2, … after a prefix.
func numbered(t testing.TB, a fixture.Arrays, prefix string) (net layers.Sequential) {
	for i := 1; a.Has(fmt.Sprint(prefix, "W", i)); i++ {
		if i > 1 {
			net = append(net, layers.Activation("tanh"))
		}
		w, b := fmt.Sprint(prefix, "W", i), fmt.Sprint(prefix, "b", i)
		net = append(net, layers.Dense{
			W: &graph.Param{Name: w, Value: a.Dense(t, w)},
			B: &graph.Param{Name: b, Value: a.Dense(t, b)},
		})
	}
	return net
}

// published is the tanh network with PyTorch's weights net.0.weight [out,in], net.0.bias,
// net.2.weight, … after a prefix.
func published(t testing.TB, a fixture.Arrays, prefix string) (net layers.Sequential) {
	for i := 0; a.Has(fmt.Sprint(prefix, "net.", i, ".weight")); i += 2 {
		if i > 0 {
			net = append(net, layers.Activation("tanh"))
		}
		name := fmt.Sprint(prefix, "net.", i)
		w, s := a.F64(t, name+".weight")
		turned := make([]float64, len(w))
		kernel.Transpose(turned, s[0], w, s[1], s[0], s[1])
		net = append(net, layers.Dense{
			W: graph.NewParam(name+".weight", turned, tensor.Float64, s[1], s[0]),
			B: &graph.Param{Name: name + ".bias", Value: a.Dense(t, name+".bias")},
		})
	}
	return net
}

// oneHot are the rows of labels.
func oneHot(labels []int, c int) *tensor.Dense {
	v := make([]float64, len(labels)*c)
	for i, k := range labels {
		v[i*c+k] = 1
	}
	return dense.Of(v, len(labels), c)
}

// PriorStd returns σ₀.
func (p *posterior) PriorStd() float64 { return p.prior }
