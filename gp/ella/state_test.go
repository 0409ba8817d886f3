package ella

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// saved is a posterior of four directions and what a file holds of it.
func saved(t *testing.T, dt tensor.Dtype) (gp.Problem, *posterior, *gptest.Saved) {
	t.Helper()
	p := small.Problem(t, 11, dt, 40, 5, 3, true)
	s := Settings{Points: 15, Rank: 4, PriorStd: 0.6, EarlyStopping: true, CheckEvery: 20}
	f := small.Fit(t, &s, p, gp.Run{Seed: 2})
	state, err := f.Posterior.State()
	if err != nil {
		t.Fatal(err)
	}
	m, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	return p, f.Posterior.(*posterior), m
}

// TestState: a file has v in the network's element type and G in float64, whose product
// with the settings in the header gives the same predictions.
func TestState(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		p, q, m := saved(t, dt)
		if v := m.Arrays[nameV]; v.Dtype() != dt || !v.Shape().Eq(tensor.Shape{4, layers.Count(p.Net)}) {
			t.Errorf("v is %v of shape %v", v.Dtype(), v.Shape())
		}
		if g := m.Arrays[nameG]; g.Dtype() != tensor.Float64 || !g.Shape().Eq(tensor.Shape{4, 4}) {
			t.Errorf("G is %v of shape %v", g.Dtype(), g.Shape())
		}
		r, err := restore(t.Context(), p.Net, p.Likelihood, m)
		if err != nil {
			t.Fatal(err)
		}
		if z, output := q.Points(); z.Shape()[0] != 15 || len(output) != 15 {
			t.Errorf("points of shape %v with %d outputs", z.Shape(), len(output))
		}
		if z, output := r.(*posterior).Points(); z != nil || output != nil {
			t.Errorf("a restored posterior has the points %v", z)
		}
		mean, cov := small.Moments(t, q, p.Validation.X)
		mean2, cov2 := small.Moments(t, r, p.Validation.X)
		fixture.Close(t, "mean", mean2, mean, 0)
		fixture.Close(t, "covariance", cov2, cov, 0)
		if r.String() != "ELLA 15" || r.(*posterior).PriorStd() != 0.6 || r.(*posterior).Rank() != 4 {
			t.Errorf("restored %v with σ₀ %g and %d directions", r, r.(*posterior).PriorStd(), r.(*posterior).Rank())
		}
	}
}

// TestSpoiledHeader: what no fit can have written is named.
func TestSpoiledHeader(t *testing.T) {
	p, q, m := saved(t, tensor.Float64)
	state, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(h *header){
		"4 directions of 3 points":       func(h *header) { h.Points = 3 },
		"0 directions":                   func(h *header) { h.Rank = 0 },
		"1000 directions":                func(h *header) { h.Points, h.Rank = 2000, 1000 },
		"inputs of shape []":             func(h *header) { h.Inputs = nil },
		"inputs of shape [-2]":           func(h *header) { h.Inputs = []int{-2} },
		"inputs of shape [7]":            func(h *header) { h.Inputs = []int{7} },
		"prior standard deviation -1":    func(h *header) { h.PriorStd = -1 },
		"a share 0 of the rows":          func(h *header) { h.Share = 0 },
		"a share 1.5 of the rows":        func(h *header) { h.Share = 1.5 },
		"ella.v":                         func(h *header) { h.Rank = 3 },
		"expected a network with params": nil,
	} {
		net, of := p.Net, m.Clone()
		if spoil == nil {
			net, want = layers.Sequential{layers.Activation("tanh")}, "a network without parameters"
		} else {
			h := state.Header.(header)
			spoil(&h)
			if of.JSON, err = json.Marshal(h); err != nil {
				t.Fatal(err)
			}
		}
		r, err := restore(context.Background(), net, p.Likelihood, of)
		if err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	wide := layers.Sequential{p.Net, threeAxes{}}
	if _, err := restore(t.Context(), wide, p.Likelihood, m.Clone()); err == nil || !strings.Contains(err.Error(), "expected [N,C]") {
		t.Errorf("error %v", err)
	}
}

// threeAxes gives outputs [N,C] another axis.
type threeAxes struct{}

func (threeAxes) Params() []*graph.Param { return nil }

func (threeAxes) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(x, append(x.Shape().Clone(), 1)...)
}
