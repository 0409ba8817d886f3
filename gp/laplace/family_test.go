package laplace

import (
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

var softmax likelihood.Likelihood = likelihood.Softmax{}

// everyMember calls f for all combinations of weights, structure and likelihood that
// have the given numbers of outputs, with hyper-parameters that tell them apart.
func everyMember(outputs []int, f func(what string, o options, c int)) {
	choices := map[string][]string{"all": nil, "last layer": {layers.LastLayerWeights}, "named": {"dense1.weight", "dense2.bias"}}
	for name, weights := range choices {
		for _, s := range []structureKind{kindFull, kindKFAC, kindDiagonal, kindLowRank} {
			for _, c := range outputs {
				o := options{Weights: weights, Structure: s, PriorStd: 0.8, NoiseStd: 0.3, BatchSize: 4}
				if s == kindLowRank {
					o.Rank = 2 * c // which does not cut through equal eigenvalues
				}
				f(label(name, ", ", s, ", gaussian, ", c, " outputs"), o, c)
				if o.Likelihood, o.NoiseStd = softmax, 0; c > 1 {
					f(label(name, ", ", s, ", softmax, ", c, " outputs"), o, c)
				}
			}
		}
	}
}

// problemFor draws targets that suit the likelihood.
func problemFor(t testing.TB, o options, seed uint64, dt tensor.Dtype, n, hidden, c int) problem {
	if !noisy(o.Likelihood) {
		return newClasses(t, seed, dt, n, hidden, c)
	}
	return newProblem(t, seed, dt, n, hidden, c)
}

// Every combination is its definition, in both element types.
func TestFamilyDefinition(t *testing.T) {
	tolerance := map[tensor.Dtype]float64{tensor.Float64: 1e-9, tensor.Float32: 2e-5} // of float32 factors
	for dt, tol := range tolerance {
		everyMember([]int{1, 3}, func(what string, o options, c int) {
			p := problemFor(t, o, 31, dt, 13, 4, c)
			newBrute(t, p, o).check(t, label(dt, ", ", what), p.fit(t, o), tol)
		})
	}
}

func TestFamilyConformance(t *testing.T) {
	everyMember([]int{2}, func(what string, o options, c int) {
		p := problemFor(t, o, 32, tensor.Float64, 20, 4, c)
		params, err := layers.Choose(p.net, o.Weights...)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(what, func(t *testing.T) {
			gptest.Check(t, gptest.Case{
				Posterior: p.fit(t, o), X: p.probe, Net: p.net,
				Prior: jacobian.NTK{Net: layers.Part{Network: p.net, Chosen: params}}, PriorVariance: o.PriorStd * o.PriorStd,
			})
		})
	})
}

func TestFamilyGradient(t *testing.T) {
	everyMember([]int{1, 2}, func(what string, o options, c int) {
		p := problemFor(t, o, 33, tensor.Float64, 20, 5, c).fit(t, o)
		checkGradient(t, what, p)
		free := problemFor(t, o, 33, tensor.Float64, 20, 5, c)
		o.PriorStd, o.NoiseStd = 0, 0
		q := free.fit(t, o)
		prior, noise := q.LogMarginalLikelihoodGradient()
		checkLower(t, what, q, q.PriorStd()*1.01, q.NoiseStd(), prior[0])
		if noisy(o.Likelihood) {
			checkLower(t, what, q, q.PriorStd(), q.NoiseStd()*1.01, noise)
		}
	})
}

// Where the last layer of a network has all its weights, LastLayer is All.
func TestLastLayerOfOneLayer(t *testing.T) {
	for _, s := range []structureKind{kindFull, kindKFAC, kindDiagonal} {
		p := newClasses(t, 34, tensor.Float64, 30, 4, 3)
		p.net = layers.Sequential{layers.Sequential{layers.Residual{Inner: layers.Activation("tanh")}, layers.NewDense("only", 2, 3, tensor.Float64, newRand(1))}}
		o := options{Structure: s, Likelihood: likelihood.Softmax{}}
		all := p.fit(t, o)
		o.Weights = []string{layers.LastLayerWeights}
		last := p.fit(t, o)
		_, want := small.Moments(t, all, p.probe)
		_, got := small.Moments(t, last, p.probe)
		fixture.Close(t, string(s), append(got, last.LogMarginalLikelihood()), append(want, all.LogMarginalLikelihood()), 0)
	}
}

// The Kronecker product is exact for the weights of a single linear layer, whose
// cotangents are the same for all examples, with Gaussian noise.
func TestKFACExactForLinear(t *testing.T) {
	p := newProblem(t, 35, tensor.Float64, 30, 4, 3)
	p.net = layers.Sequential{layers.NewDense("only", 2, 3, tensor.Float64, newRand(2))}
	for _, name := range []string{"only.weight", "only.bias"} {
		o := options{Weights: []string{name}}
		exact := p.fit(t, o)
		o.Structure = kindKFAC
		kfac := p.fit(t, o)
		_, want := small.Moments(t, exact, p.probe)
		_, got := small.Moments(t, kfac, p.probe)
		fixture.Close(t, name+": covariance", got, want, 1e-8)
		fixture.Close(t, name+": lml, σ₀, σ", []float64{kfac.LogMarginalLikelihood(), kfac.PriorStd(), kfac.NoiseStd()},
			[]float64{exact.LogMarginalLikelihood(), exact.PriorStd(), exact.NoiseStd()}, 1e-9)
	}
}

// With softmax, too, both spaces give the same posterior. The special form for a dense layer
// gives the posterior that the form for any weights gives.
func TestSpacesWithSoftmax(t *testing.T) {
	for name, weights := range map[string][]string{"all": nil, "last layer": {layers.LastLayerWeights}} {
		p := newClasses(t, 36, tensor.Float64, 25, 5, 3)
		o := options{Weights: weights, Likelihood: likelihood.Softmax{}, PriorStd: 1.3, Space: spaceFunctions}
		want := p.fit(t, o)
		o.Space = spaceWeights
		got := p.fit(t, o)
		if _, ok := got.structure.(*denseLayer); ok != (name == "last layer") {
			t.Errorf("%s: structure %T", name, got.structure)
		}
		comparePosteriors(t, name, got, want, p.probe)
	}
}

func comparePosteriors(t *testing.T, what string, p, q *posterior, probe *tensor.Dense) {
	t.Helper()
	_, want := small.Moments(t, q, probe)
	_, got := small.Moments(t, p, probe)
	fixture.Close(t, what+": covariance", got, want, 1e-9)
	_, wj, err := q.Joint(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	_, gj, err := p.Joint(t.Context(), probe)
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, what+": joint", gj.Float64s(), wj.Float64s(), 1e-9)
	fixture.Close(t, what+": lml, γ", []float64{p.LogMarginalLikelihood(), p.EffectiveParameters()},
		[]float64{q.LogMarginalLikelihood(), q.EffectiveParameters()}, 1e-10)
}

// odd is a network of which no weight is a plain dense layer's: tanh(x Vᵀ) with V
// stored as it is or transposed, then times W, used twice, and scaled by S.
type odd struct {
	v, w, s  *graph.Param
	straight bool
}

func newOdd(straight bool) layers.Sequential {
	rng := newRand(3)
	draw := func(name string, shape ...int) *graph.Param {
		return graph.NewParam(name, small.Normal(rng, tensor.Float64, shape...).Float64s(), tensor.Float64, shape...)
	}
	o := odd{draw("v", 3, 2), draw("w", 3, 3), draw("s", 3), straight}
	if v := o.v.Floats(); straight {
		o.v = graph.NewParam("v", []float64{v[0], v[2], v[4], v[1], v[3], v[5]}, tensor.Float64, 2, 3)
	}
	return layers.Sequential{o}
}

func (o odd) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	h, w := b.Tanh(b.MatMul(x, b.Param(o.v), false, !o.straight)), b.Param(o.w)
	h = b.MatMul(b.Tanh(b.MatMul(h, w, false, false)), w, false, false)
	return b.Mul(h, b.Reshape(b.Param(o.s), 1, 3))
}

func (o odd) Params() []*graph.Param { return []*graph.Param{o.v, o.w, o.s} }

// A parameter of any form has its exact diagonal, and one that is not an outer product
// its exact block in KFAC; one that is stored transposed has a Kronecker product.
func TestOddNetwork(t *testing.T) {
	p := newClasses(t, 37, tensor.Float64, 12, 4, 3)
	p.net = newOdd(false)
	o := options{Likelihood: likelihood.Softmax{}, PriorStd: 0.7}
	for _, s := range []structureKind{kindFull, kindDiagonal} {
		o.Structure = s
		newBrute(t, p, o).check(t, string(s), p.fit(t, o), 1e-9)
	}
	for _, name := range []string{"w", "s"} {
		o.Weights, o.Structure = []string{name}, kindFull
		exact := p.fit(t, o)
		o.Structure = kindKFAC
		comparePosteriors(t, "KFAC of "+name, p.fit(t, o), exact, p.probe)
	}
	defer func(before int) { widestRows = before }(widestRows)
	o.Weights, o.Structure, widestRows = []string{"w", "s"}, kindDiagonal, 1
	diagonal := p.fit(t, o)
	o.Structure = kindKFAC
	wide := p.fit(t, o)
	comparePosteriors(t, "KFAC of wide rows", wide, diagonal, p.probe)
	restored, err := restore(t, p, store(t, wide))
	if err != nil {
		t.Fatal(err)
	}
	comparePosteriors(t, "KFAC of wide rows, restored", restored, wide, p.probe)
	if n := (&Settings{Structure: "kfac"}).notes(gp.Problem{Likelihood: o.Likelihood}, wide); len(n) != 1 || !strings.Contains(n[0], "diagonal alone of 2 parameters") {
		t.Errorf("notes %q", n)
	}
	o.Weights = []string{"v"}
	for _, s := range []structureKind{kindFull, kindKFAC, kindDiagonal} {
		o.Structure, p.net = s, newOdd(true)
		want := p.fit(t, o)
		p.net = newOdd(false)
		got := p.fit(t, o)
		if b := got.scan.blocks[0]; !b.swapped || b.a == nil || want.scan.blocks[0].swapped {
			t.Errorf("the transposed weight's block is %+v", b)
		}
		comparePosteriors(t, label(s, " of v, stored either way"), got, want, p.probe)
	}
}
