package valla

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// naturalToy is a fit of a small random problem in float64, some steps under way.
func naturalToy(t *testing.T, lik likelihood.Likelihood, alpha float64) *natural {
	t.Helper()
	n, err := limitedToy(t, lik, alpha, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// limitedToy is naturalToy within so many bytes.
func limitedToy(t *testing.T, lik likelihood.Likelihood, alpha float64, limit int64) (*natural, error) {
	t.Helper()
	rng := rand.New(rand.NewPCG(4, 1))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{6, 5}, Outputs: 3, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	layer, err := NewLayer(jacobian.NTK{Net: net}, small.Normal(rng, tensor.Float64, 4, 2), []int{0, 1, 2, 0})
	if err != nil {
		t.Fatal(err)
	}
	y := small.Normal(rng, tensor.Float64, 8, 3)
	if _, ok := lik.(likelihood.Softmax); ok {
		for i := range y.Float64s() {
			y.Float64s()[i] = 0
		}
		for i := range 8 {
			y.Float64s()[3*i+i%3] = 1
		}
	}
	n, err := naturalFit{Net: net, Layer: layer, Likelihood: lik, Alpha: new(alpha), BatchSize: 8, MemoryLimit: limit}.begin(context.Background(), small.Normal(rng, tensor.Float64, 8, 2), y)
	if err != nil {
		return nil, err
	}
	for i := range 3 {
		if _, err := n.Evaluate(context.Background(), i); err != nil {
			t.Fatal(err)
		}
	}
	return n, nil
}

// TestNaturalInParts: under a memory limit a mini-batch is computed in parts, with the
// same natural parameters, objective and gradients, whether or not the parts keep what belongs to Z.
func TestNaturalInParts(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprint("held ", held), func(t *testing.T) { testInParts(t, held) })
	}
}

func testInParts(t *testing.T, held bool) {
	lik := likelihood.NewGaussian(0.3, tensor.Float64)
	whole := naturalToy(t, lik, 1)
	quarter, err := whole.inputsGraph(whole.layer.Z.Value.Shape(), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := limitedToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 1, quarter.draft.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if held { // which takes more memory, and is worth it for large networks alone
		g, err := parts.inputsGraph(whole.layer.Z.Value.Shape(), 2, true)
		if err != nil {
			t.Fatal(err)
		}
		if parts.inputs, err = parts.compiled(g, 2, parts.p.Train); err != nil {
			t.Fatal(err)
		}
	}
	if whole.inputs.parts != 1 || whole.inputs.moves || parts.inputs.parts != 4 || parts.inputs.moves != held {
		t.Fatalf("%d and %d parts that keep what belongs to Z: %t and %t", whole.inputs.parts, parts.inputs.parts, whole.inputs.moves, parts.inputs.moves)
	}
	fixture.Close(t, "T", parts.ladder.t.Float64s(), whole.ladder.t.Float64s(), 1e-12)
	fixture.Close(t, "losses", parts.ladder.losses.Float64s(), whole.ladder.losses.Float64s(), 1e-12)
	if slices.Equal(parts.Identity(), whole.Identity()) {
		t.Error("a fit in parts, which has other results, has the same identity")
	}
	whole.inputs.afterwards = false // as it is in parts
	for _, n := range []*natural{whole, parts} {
		for step := 3; step < 5; step++ {
			for i := range n.layer.Z.Value.Float64s() { // a move between two steps
				n.layer.Z.Value.Float64s()[i] += 0.1 * math.Sin(float64(i))
			}
			if _, err := n.Evaluate(context.Background(), step); err != nil {
				t.Fatal(err)
			}
		}
	}
	fixture.Close(t, "gradient in Z", graph.Floats(parts.params[0].Grad), graph.Floats(whole.params[0].Grad), 1e-10)
	fixture.Close(t, "gradient in log σ²", parts.ladder.noiseGrad.Float64s(), whole.ladder.noiseGrad.Float64s(), 1e-10)
	var refused *graph.MemoryError
	if _, err := limitedToy(t, lik, 1, 100); !errors.As(err, &refused) {
		t.Errorf("a limit of 100 bytes: error %v", err)
	}
}

// restore sets the natural parameters.
func (n *natural) restore(t []float64) {
	copy(n.ladder.t.Float64s(), t)
	n.ladder.outdate()
}

// projected is the present state without the negative eigenvalues of T: those are left
// out anew each time, which the gradient at fixed T does not see.
func (n *natural) projected(t *testing.T) []float64 {
	t.Helper()
	spectra, err := n.presentSpectra()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range spectra {
		u := make([]float64, p.m*p.m)
		kernel.Transpose(u, p.m, p.u, p.m, p.m, p.m)
		copy(n.ladder.natural(i), weightedGram(nil, p.m, p.gamma, u))
	}
	return append([]float64(nil), n.ladder.t.Float64s()...)
}

// TestNaturalGradients compares the gradients of the objective at fixed T, with respect
// to Z and to the likelihood's parameters of each rung, with central differences.
func TestNaturalGradients(t *testing.T) {
	const h = 1e-5
	for _, c := range []struct {
		lik   likelihood.Likelihood
		alpha float64
	}{
		{likelihood.Softmax{}, 1}, {likelihood.NewGaussian(0.3, tensor.Float64), 0}, {likelihood.NewGaussian(0.3, tensor.Float64), 1},
	} {
		n := naturalToy(t, c.lik, c.alpha)
		state := n.projected(t)
		evaluate := func() []float64 { // losses of the rungs, with T as it was
			s, err := n.pass(context.Background(), 51, n.pace(51))
			if err != nil {
				t.Fatal(err)
			}
			n.restore(state)
			return s.losses
		}
		difference := func(v []float64, i, rung int) float64 {
			x := v[i]
			v[i] = x + h
			up := evaluate()[rung]
			v[i] = x - h
			down := evaluate()[rung]
			v[i] = x
			return (up - down) / (2 * h)
		}
		n.restore(state)
		z, lead := n.layer.Z.Value.Float64s(), n.ladder.lead()
		if _, err := n.Evaluate(context.Background(), 51); err != nil { // ρ = ½: the gradient is that after the step
			t.Fatal(err)
		}
		state = n.projected(t)
		n.restore(state)
		got, want := graph.Floats(n.params[0].Grad), make([]float64, len(z))
		for i := range z {
			want[i] = difference(z, i, lead)
		}
		fixture.Close(t, "gradient in Z", got, want, 1e-5) // gradients of 1e-4 at most, of losses near 10
		if n.ladder.width == 0 {
			continue
		}
		evaluate()
		noise := append([]float64(nil), n.ladder.noiseGrad.Float64s()...)
		for i := range n.ladder.rungs() {
			fixture.Close(t, "gradient in log σ²", noise[i:i+1], []float64{difference(n.ladder.noise.Float64s(), i, i)}, 1e-6)
		}
	}
}

// TestNaturalBound: no step goes farther than the bound, which falls with the learning
// rate, and none takes away more than half of the precision; for α = 0 there is no bound.
func TestNaturalBound(t *testing.T) {
	n := naturalToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 1)
	if b := n.pace(0).bound; b != farthestStep {
		t.Errorf("the first step is bounded by %g, want %g", b, farthestStep)
	}
	fixture.Close(t, "bound in the middle", []float64{n.pace(n.loop.Iterations / 2).bound}, []float64{farthestStep / 2}, 1e-12)
	spectra, err := n.presentSpectra()
	if err != nil {
		t.Fatal(err)
	}
	d, scale := n.ladder.away(0, make([]float64, 16)), n.ladder.scale(0) // to T = 0
	kernel.Scale(d, -1e3, d)                                             // far the other way
	far := length(spectra[0].relative(scale, d))
	for _, bound := range []float64{far / 3, far * 3, math.Inf(1)} {
		change, made, err := pace{1, bound}.step(spectra[0], scale, slices.Clone(d))
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "length", []float64{made}, []float64{min(bound, far)}, 1e-12)
		values, _, err := eigen.Symmetric(4, spectra[0].relative(scale, change))
		if err != nil {
			t.Fatal(err)
		}
		if curbed := values[0] >= leastChange-1e-9; curbed == math.IsInf(bound, 1) {
			t.Errorf("bound %g: the step takes away %g of the precision", bound, -values[0])
		}
	}
	if n = naturalToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 0); !math.IsInf(n.pace(3).bound, 1) {
		t.Errorf("for α = 0 the bound is %g, want none", n.pace(3).bound)
	}
}

// TestScan: a scan finds the same T as a step over all rows, for Gaussian noise and
// α = 0. The ladder begins at the same σ₀ whatever the start was.
func TestScan(t *testing.T) {
	n := naturalToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 0)
	n.p.Validation = &gp.Examples{X: n.inputs.all[0], Y: n.inputs.all[1]}
	var err error
	if n.check, err = n.newValidation(context.Background()); err != nil {
		t.Fatal(err)
	}
	f, err := n.presentFrame()
	if err != nil {
		t.Fatal(err)
	}
	e := *n.p.Validation
	got, err := curvature(context.Background(), n.check.each, n.lik, f, e, float64(n.draws.n)/float64(e.N()))
	if err != nil {
		t.Fatal(err)
	}
	want, err := n.pass(context.Background(), 3, n.pace(3))
	if err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "T", got, want.t[0], 1e-10)
	var middles []float64
	for _, start := range []float64{-5, 5} {
		n.ladder.place(start, 0.1)
		if err := n.search(context.Background(), 0); err != nil {
			t.Fatal(err)
		}
		middles = append(middles, n.ladder.logStd.Float64s()[n.ladder.rungs()/2])
	}
	fixture.Close(t, "log σ₀", middles[1:], middles[:1], 0)
}

// TestRobustValues: with Gaussian noise one row at 13 standard deviations changes what σ₀ is chosen by less than a third of
// what it changes the plain values, where σ₀ does not cover the row. With classes both values are the same.
func TestRobustValues(t *testing.T) {
	for _, l := range []likelihood.Likelihood{likelihood.NewGaussian(3, tensor.Float64), likelihood.Softmax{}} {
		n := naturalToy(t, l, 1)
		spectra, err := n.presentSpectra()
		if err != nil {
			t.Fatal(err)
		}
		compare := func(shift float64) (values, robust []float64) {
			y := slices.Clone(graph.Floats(n.inputs.all[1]))
			y[0] += shift
			n.p.Validation = &gp.Examples{X: n.inputs.all[0], Y: dense.Of(y, n.inputs.all[1].Shape()...)}
			if n.check, err = n.newValidation(context.Background()); err != nil {
				t.Fatal(err)
			}
			if values, robust, err = n.check.values(context.Background(), n, n.ladder.trials(spectra)); err != nil {
				t.Fatal(err)
			}
			return values, robust
		}
		values, robust := compare(0)
		if !likelihood.IsGaussian(l) {
			if !slices.Equal(values, robust) {
				t.Errorf("%v: values %g, robust %g", l, values, robust)
			}
			continue
		}
		far, farRobust := compare(22)
		changed := 0
		for i := range values {
			if plain := far[i] - values[i]; plain > 5 {
				changed++
				if by := farRobust[i] - robust[i]; by > plain/3 {
					t.Errorf("trial %d: the value changes by %g, the robust one by %g", i, plain, by)
				}
			}
		}
		if changed == 0 {
			t.Errorf("values %g, with the row %g", values, far)
		}
	}
}

// TestTemperedValues: with a temperature a trial has the density of scaled logits, and with several the best one, with its cost.
func TestTemperedValues(t *testing.T) {
	n := naturalToy(t, likelihood.Softmax{}, 1)
	x := n.inputs.all[0]
	f, err := gp.Point{Net: n.p.Net, Dtype: n.dt}.Mean(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, 0, f.Size()) // the classes that the network says, for which a temperature below 1 is best
	for row := range slices.Chunk(graph.Floats(f), n.outputs) {
		for _, v := range row {
			y = append(y, map[bool]float64{true: 1}[v == slices.Max(row)])
		}
	}
	n.p.Tempered = true
	held := gp.Examples{X: x, Y: dense.Of(y, f.Shape()...)}
	var rows []int // many, whose best temperature is not 1
	for i := range 20 * held.N() {
		rows = append(rows, i%held.N())
	}
	held = held.Rows(rows)
	n.p.Validation = &held
	if n.check, err = n.newValidation(t.Context()); err != nil {
		t.Fatal(err)
	}
	spectra, err := n.presentSpectra()
	if err != nil {
		t.Fatal(err)
	}
	trials := n.ladder.trials(spectra)
	if len(n.check.temperatures) < 5 {
		t.Fatalf("temperatures %v", n.check.temperatures)
	}
	values, _, err := n.check.values(t.Context(), n, trials)
	if err != nil {
		t.Fatal(err)
	}
	best := slices.Repeat([]float64{math.Inf(1)}, len(trials))
	for _, temperature := range n.check.temperatures {
		for i, v := range slowValues(t, n, trials, temperature) {
			best[i] = min(best[i], v+calibrate.TemperatureCost(temperature)/float64(n.p.Validation.N()))
		}
	}
	fixture.Close(t, "values", values, best, 1e-9)
	if one := slowValues(t, n, trials, 1); slices.Equal(one, best) {
		t.Errorf("the temperature 1 is best for all trials, which shows nothing: %v", one)
	}
}

// slowValues returns the mean negative log probability of the classes that trials give to validation examples with logits f/T.
func slowValues(t *testing.T, n *natural, trials []trial, temperature float64) []float64 {
	t.Helper()
	e, c := n.p.Validation, n.outputs
	sums := make([]float64, len(trials))
	n.check.each.Refresh()
	err := n.check.each.Each(t.Context(), e.X, func(first, rows int, out []*tensor.Dense) error {
		mean, diag, k := dense.AppendRows(nil, out[0], rows), dense.AppendRows(nil, out[1], rows), dense.AppendRows(nil, out[2], rows)
		trials[0].whiten(k)
		for i, p := range trials {
			q := p.variance(p.scale, diag, p.rotate(k))
			for r := range rows {
				total, own := 0.0, 0.0
				for o := range c {
					a := math.Exp(mean[r*c+o] / math.Sqrt(temperature*temperature+math.Pi/8*q[r*c+o]))
					if total += a; graph.Floats(e.Y)[(first+r)*c+o] == 1 {
						own = a
					}
				}
				sums[i] -= math.Log(own/total) / float64(e.N())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

// TestPassOver: what rounding hides is passed over, unless all is hidden.
func TestPassOver(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ left, want []float64 }{
		{[]float64{1, 1, 1}, []float64{3, 2, 1}},
		{[]float64{1, 0.1, 0.09}, []float64{3, 2, inf}},
		{[]float64{0, math.NaN(), -1}, []float64{3, 2, 1}},
	} {
		values := []float64{3, 2, 1}
		passOver(values, c.left, []float64{10, 10, 10}, 0.01)
		if !slices.Equal(values, c.want) {
			t.Errorf("with %v left: %v, want %v", c.left, values, c.want)
		}
	}
}

// Natural parameters are averages over an epoch while Z moves, over ever more steps when
// it comes to rest.
func TestNaturalRate(t *testing.T) {
	n := naturalToy(t, likelihood.NewGaussian(0.5, tensor.Float64), 1)
	last := n.loop.Iterations - 1
	if rho := n.pace(0).rho; rho != 1 {
		t.Errorf("the first step has ρ = %g, want 1", rho)
	}
	if rho := n.pace(20).rho; rho < 0.49 || rho > 0.5 { // where the learning rate has hardly fallen
		t.Errorf("with all of the data in a batch ρ = %g, want nearly 1/2", rho)
	}
	if rho, want := n.pace(last).rho, 2/float64(last+2); rho != want {
		t.Errorf("the last step has ρ = %g, want %g", rho, want)
	}
}

// TestNaturalSearchesOnce: an iteration that is evaluated again, after an interruption, moves the
// ladder only once.
func TestNaturalSearchesOnce(t *testing.T) {
	n := naturalToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 1)
	n.loop.ValidateEvery = 3
	before := append([]float64(nil), n.ladder.logStd.Float64s()...)
	var after []float64
	for range 2 {
		if err := n.search(context.Background(), 3); err != nil {
			t.Fatal(err)
		}
		if after == nil {
			after = append(after, n.ladder.logStd.Float64s()...)
		}
	}
	if slices.Equal(before, after) {
		t.Fatal("the search does not move the ladder")
	}
	if got := n.ladder.logStd.Float64s(); !slices.Equal(got, after) {
		t.Errorf("the second search moves the ladder from %v to %v", after, got)
	}
}

// TestNaturalReusesSpectra: steps take the spectra of an earlier step until they have changed T too much, by their lengths or
// by their rates.
func TestNaturalReusesSpectra(t *testing.T) {
	far := 0.4 * mostLengths * 4 // with four inducing points
	for what, p := range map[string]pace{
		"long":   {rho: 1e-6, bound: far},
		"steady": {rho: 0.4 * mostRates, bound: 1e-6 * far},
	} {
		n := naturalToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 1)
		kernel.Scale(n.ladder.t.Float64s(), 1e8, n.ladder.t.Float64s()) // so that small rates go far
		var fresh []bool
		for i := range 5 {
			s, err := n.pass(context.Background(), i, p)
			if err != nil {
				t.Fatal(err)
			}
			if err := n.step(s, p, i); err != nil {
				t.Fatal(err)
			}
			fresh = append(fresh, s.change == 0)
		}
		if !slices.Equal(fresh, []bool{true, false, false, true, false}) {
			t.Errorf("%s steps: computed in the steps %v, expected the first and the fourth", what, fresh)
		}
		if gamma := n.ladder.gamma.Float64s(); slices.Max(gamma) <= 0 {
			t.Errorf("the ladder remembers the eigenvalues %v", gamma)
		}
	}
}

// TestNaturalLooksAhead: the spectrum and the step of the leading rung, which are found for the
// gradient in Z, are those that every rung gets, from the first step on, where each step is too long for the spectra before.
func TestNaturalLooksAhead(t *testing.T) {
	n := naturalToy(t, likelihood.NewGaussian(0.3, tensor.Float64), 1)
	clear(n.ladder.t.Float64s())
	n.ladder.outdate()
	n.ladder.ahead = newLadder(n.ladder.m, n.ladder.rungs(), 0, nil).ahead // as at the start
	for i := range 4 {
		p := n.pace(i)
		n.ladder.outdate()
		s, err := n.pass(context.Background(), i, p)
		if err != nil {
			t.Fatal(err)
		}
		for k, got := range s.spectra {
			want, err := got.frame.spectrum(n.ladder.natural(k))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.gamma, want.gamma) || !slices.Equal(got.u, want.u) {
				t.Errorf("step %d, rung %d: not the spectrum of T", i, k)
			}
		}
		lead := n.ladder.lead()
		want, err := n.target(lead, s.spectra[lead], s.t[lead], p)
		if err != nil {
			t.Fatal(err)
		}
		if s.lead == nil || s.lead.change != want.change || !slices.Equal(s.lead.t, want.t) {
			t.Errorf("step %d of the leading rung: %v, want %v", i, s.lead, want)
		}
		if err := n.step(s, p, i); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSome: a validation by a part of its examples has examples from all over the held-out rows, which may be sorted by class.
func TestSome(t *testing.T) {
	v := &validation{x: dense.Of([]float64{0, 1, 2, 3, 4, 5, 6}, 7, 1), y: []float64{0, 10, 1, 11, 2, 12, 3, 13, 4, 14, 5, 15, 6, 16}}
	v.add, v.share = []float64{0, 1, 2, 3, 4, 5, 6}, []float64{0, .1, .2, .3, .4, .5, .6}
	few := v.some(3)
	got := fmt.Sprint(few.x.Data(), few.y, few.add, few.share)
	if want := "[0 2 4] [0 10 2 12 4 14] [0 2 4] [0 0.2 0.4]"; got != want || v.some(7) != v {
		t.Errorf("some examples are %s, want %s", got, want)
	}
}
