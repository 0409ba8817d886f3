package valla

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestNoteOnTwins: inducing points that lie upon each other are counted, but inducing points of
// different outputs are not counted.
func TestNoteOnTwins(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, false)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range p.Train.N() { // two places, with a little between the rows of each
		for j := range 2 {
			p.Train.X.Float64s()[2*i+j] = float64(i%2) + 1e-9*rng.NormFloat64()
		}
	}
	s := Settings{Inducing: 10, Iterations: 2, FixInducing: true}
	f := fit(t, s, p, gp.Run{})
	if notes := strings.Join(f.Record.Notes, "\n"); !strings.Contains(notes, "6 of 10 inducing points lie upon others and add nothing: fewer would do (inducing=4)") {
		t.Errorf("notes %q", notes)
	}
	p.Train.X = small.Normal(rng, tensor.Float64, p.Train.N(), 2)
	if notes := fit(t, s, p, gp.Run{}).Record.Notes; len(notes) != 0 {
		t.Errorf("of different points: notes %q", notes)
	}
}

// TestNoteOnTheBoundOfThePrior: where a network is best without uncertainty and no rows are held
// out, σ₀ falls to its bound, which is said. With rows held out it falls no farther than they
// can tell.
func TestNoteOnTheBoundOfThePrior(t *testing.T) {
	p := newProblem(t, tensor.Float64, 2, true)
	p.Net.Params()[len(p.Net.Params())-1].Value.Float64s()[0] += 30 // it is sure of class 0
	sure := func(e gp.Examples) {                                   // the targets are what the network predicts, so that doubt cannot help
		g, err := gp.Predict(ctx, gp.Point{Net: p.Net, Dtype: tensor.Float64}, e.X)
		if err != nil {
			t.Fatal(err)
		}
		for i := range e.N() {
			y := e.Y.Float64s()[2*i : 2*i+2]
			y[0], y[1] = 0, 1
			if f := g.Mean[2*i : 2*i+2]; f[0] > f[1] {
				y[0], y[1] = 1, 0
			}
		}
	}
	sure(*p.Validation)
	for _, s := range []Settings{{Inducing: 4, Iterations: 300}, {Inducing: 4, Iterations: 10, FixPrior: true, PriorStd: 1}} {
		f := fit(t, s, p, gp.Run{})
		if notes := f.Record.Notes; len(notes) != 0 || f.Record.PriorStds[0] < 0.01 {
			t.Errorf("prior std %g, fixed %t, notes %q", f.Record.PriorStds[0], s.FixPrior, notes)
		}
	}
	sure(p.Train)
	p.Validation = nil
	f := fit(t, Settings{Inducing: 4, Iterations: 300}, p, gp.Run{})
	notes := strings.Join(f.Record.Notes, "\n")
	if !strings.Contains(notes, "is near the bound of its search, which goes from 0.0001 to 1e+04: start elsewhere (the setting prior-std") {
		t.Errorf("prior std %g, notes %q", f.Record.PriorStds[0], notes)
	}
}

// TestNoteOnRounding: where the data leave next to nothing of the prior variance, the note says that variances have lost their digits,
// and in float32 sooner.
func TestNoteOnRounding(t *testing.T) {
	for _, c := range []struct {
		dt    tensor.Dtype
		std   float64
		noted bool
	}{{tensor.Float64, 1, false}, {tensor.Float64, 100, true}, {tensor.Float32, 1e-3, false}, {tensor.Float32, 1, true}} {
		rng := rand.New(rand.NewPCG(3, 1))
		net, err := layers.MLP{Inputs: 2, Outputs: 1, Activation: "relu"}.New(c.dt, rng)
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]float64, 400), make([]float64, 200)
		for i := range y {
			x[2*i], x[2*i+1], y[i] = 2000+10*rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64() // as years
		}
		p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.25, c.dt), Train: gp.Examples{
			X: graph.Convert(dense.Of(x, 200, 2), c.dt), Y: graph.Convert(dense.Of(y, 200, 1), c.dt)}}
		s := Settings{Inducing: 3, Iterations: 100, FixPrior: true, FixNoise: true, PriorStd: c.std, Alpha: new(0.0)}
		notes := strings.Join(fit(t, s, p, gp.Run{}).Record.Notes, "\n")
		if strings.Contains(notes, "of the prior variance, less than") != c.noted {
			t.Errorf("%v, prior std %g: notes %q", c.dt, c.std, notes)
		}
	}
}
