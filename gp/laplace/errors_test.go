package laplace

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// wants fails unless err mentions all of the parts.
func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q in it", err, part)
		}
	}
}

func TestBadOptions(t *testing.T) {
	p := newProblem(t, 11, tensor.Float64, 5, 3, 1)
	for _, c := range []struct {
		o    options
		says string
	}{
		{options{PriorStd: -1, NoiseStd: 1}, "prior standard deviation -1"},
		{options{PriorStd: 1, NoiseStd: -2}, "noise standard deviation -2"},
		{options{PriorStd: math.NaN(), NoiseStd: 1}, "NaN"},
		{options{PriorStd: 1, NoiseStd: math.Inf(1)}, "+Inf"},
		{options{PriorStd: 1e200, NoiseStd: 1e-200}, "too far apart"},
		{options{BatchSize: -1}, "batch size -1"},
		{options{MemoryLimit: -1}, "memory limit -1"},
		{options{Space: "7"}, `unknown space "7"`},
		{options{Structure: "7"}, `unknown structure "7"`},
		{options{Structure: "-1"}, `unknown structure "-1"`},
		{options{Structure: kindKFAC, Space: spaceWeights}, "structure kfac"},
		{options{Structure: kindKFAC, Rank: 3}, "rank 3 for the structure kfac"},
		{options{Structure: kindLowRank, Rank: -3}, "rank -3"},
		{options{Priors: "3"}, `unknown priors "3"`},
		{options{Ascent: &ascent{Rate: -1}}, "ascent at the rate -1"},
		{options{Likelihood: likelihood.Softmax{}, NoiseStd: 1}, "with a likelihood that has no noise, expected 0"},
		{options{Likelihood: likelihood.Softmax{}}, "at least two classes"},
		{options{Subset: -1}, "subset of -1"},
		{options{Subset: 6}, "expected 1 to 5"},
		{options{Weights: []string{"nowhere"}}, "\"nowhere\" is unknown or named twice; the network has [\"dense1.weight\""},
		{options{Weights: []string{"dense1.bias", "dense1.bias"}}, "named twice"},
	} {
		_, err := fitOptions(t.Context(), p.net, p.x, p.y, c.o)
		wants(t, err, c.says)
	}
	_, err := p.fit(t, options{}).at(t.Context(), -1, 1)
	wants(t, err, "prior standard deviation -1")
	c := newClasses(t, 11, tensor.Float64, 5, 3, 2)
	_, err = c.fit(t, options{Likelihood: likelihood.Softmax{}, PriorStd: 1}).at(t.Context(), 1, 1)
	wants(t, err, "no noise", "expected 0")
}

func TestNotOneHot(t *testing.T) {
	for _, row := range [][]float64{{1, 1, 0}, {0, 0, 0}, {0.5, 0.5, 0}, {2, -1, 0}, {1, -1, 1}} {
		p := newClasses(t, 16, tensor.Float64, 4, 3, 3)
		copy(p.y.Float64s()[6:], row)
		_, err := fitOptions(t.Context(), p.net, p.x, p.y, options{Likelihood: likelihood.Softmax{}})
		wants(t, err, "the targets of example 2 are", "expected one 1 among zeros")
	}
}

func TestBadData(t *testing.T) {
	p := newProblem(t, 12, tensor.Float64, 5, 3, 1)
	nan := func(d *tensor.Dense, at int, v float64) *tensor.Dense {
		d = d.Clone().(*tensor.Dense)
		d.Float64s()[at] = v
		return d
	}
	ints := tensor.New(tensor.WithShape(5, 2), tensor.WithBacking(make([]int, 10)))
	view, err := p.x.Slice(nil, tensor.S(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	column := view.(*tensor.Dense)
	for _, c := range []struct {
		x, y *tensor.Dense
		says []string
	}{
		{nil, p.y, []string{"inputs or targets are nil"}},
		{p.x, nil, []string{"inputs or targets are nil"}},
		{p.x, dense.Of(make([]float64, 4), 4, 1), []string{"(5, 2)", "(4, 1)"}},
		{p.x, dense.Of(make([]float64, 5), 5, 1, 1), []string{"(5, 1, 1)"}},
		{p.x, dense.Of(make([]float64, 5), 5), []string{"targets of shape (5)"}},
		{p.x, dense.Of(make([]float64, 10), 5, 2), []string{"(1, 1)", "(1, 2)"}},
		{dense.Of(make([]float64, 15), 5, 3), p.y, []string{"(1, 3)"}},
		{nan(p.x, 3, math.NaN()), p.y, []string{"the inputs of example 1 are not finite"}},
		{p.x, nan(p.y, 2, math.Inf(-1)), []string{"the targets of example 2 are not finite"}},
		{ints, p.y, []string{"inputs are int"}},
		{column, p.y, []string{"inputs of shape (5)"}},
	} {
		_, err := fitOptions(t.Context(), p.net, c.x, c.y, options{})
		wants(t, err, c.says...)
	}
	q := p.fit(t, options{PriorStd: 1, NoiseStd: 1})
	_, err = gp.Predict(t.Context(), q, dense.Of(make([]float64, 6), 2, 3))
	wants(t, err, "[3]", "(2)")
	_, _, err = q.Joint(t.Context(), dense.Of([]float64{0, math.NaN()}, 1, 2))
	wants(t, err, "element 1 of example 0 is NaN")
}

// root is a network whose output is the square root of a weight, times the input.
type root struct{ w *graph.Param }

func (r root) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Mul(x, b.Sqrt(b.Param(r.w)))
}
func (r root) Params() []*graph.Param { return []*graph.Param{r.w} }

func TestNetworksThatAreNotFinite(t *testing.T) {
	one := dense.Of([]float64{1, 1}, 2, 1)
	for _, c := range []struct {
		w    float64
		says string
	}{
		{math.NaN(), "weights are not finite"},
		{-1, "output 0 at example 0 is NaN"},
		{0, "derivative of output 0 in weight 0 is +Inf"},
	} {
		net := root{graph.NewParam("w", []float64{c.w}, tensor.Float64, 1)}
		_, err := fitOptions(t.Context(), net, one, one, options{PriorStd: 1, NoiseStd: 1})
		wants(t, err, c.says)
	}
	for _, s := range []structureKind{kindKFAC, kindDiagonal} {
		net := root{graph.NewParam("w", []float64{0}, tensor.Float64, 1)}
		_, err := fitOptions(t.Context(), net, one, one, options{PriorStd: 1, NoiseStd: 1, Structure: s})
		wants(t, err, `squared derivatives in parameter "w" sum to +Inf`)
	}
	s := newProblem(t, 10, tensor.Float64, 3, 4, 1).fit(t, options{PriorStd: 1, NoiseStd: 1}).scan
	h := make([]float64, s.params*s.params)
	h[len(h)-1] = math.Inf(1)
	wants(t, s.checkMatrix(h), `squared derivatives in parameter "dense2.bias" sum to +Inf`)
	for _, weights := range [][]string{nil, {layers.LastLayerWeights}} {
		_, err := fitOptions(t.Context(), layers.Activation("tanh"), one, one, options{Weights: weights})
		wants(t, err, "no parameters")
	}
}

func TestNoMaximum(t *testing.T) {
	line := func(w float64) layers.Network {
		return layers.Dense{
			W: graph.NewParam("w", []float64{w}, tensor.Float64, 1, 1),
			B: graph.NewParam("b", []float64{0}, tensor.Float64, 1),
		}
	}
	x, y := dense.Of([]float64{1, 2, 3}, 3, 1), dense.Of([]float64{2, 4, 6}, 3, 1)
	_, err := fitOptions(t.Context(), line(0), x, y, options{})
	wants(t, err, "all weights are 0")
	_, err = fitOptions(t.Context(), line(2), x, y, options{})
	wants(t, err, "all residuals are 0")
	zero := root{graph.NewParam("w", []float64{1}, tensor.Float64, 1)}
	_, err = fitOptions(t.Context(), zero, dense.Of(make([]float64, 3), 3, 1), y, options{})
	wants(t, err, "no maximum")
}

func TestMemoryLimit(t *testing.T) {
	p := newProblem(t, 13, tensor.Float64, 40, 6, 1)
	for name, space := range spaces {
		var tooMuch *graph.MemoryError
		_, err := fitOptions(t.Context(), p.net, p.x, p.y, options{PriorStd: 1, NoiseStd: 1, Space: space, MemoryLimit: 1000})
		if !errors.As(err, &tooMuch) || tooMuch.Limit != 1000 || tooMuch.Need < 8*25*25 {
			t.Errorf("%s: error %v, want a MemoryError", name, err)
		}
		wants(t, err, "bytes", "1000")
	}
	// Enough for the matrices, but not for the compiled network with them.
	need := p.fit(t, options{PriorStd: 1, NoiseStd: 1}).structure.bytes()
	_, err := fitOptions(t.Context(), p.net, p.x, p.y, options{PriorStd: 1, NoiseStd: 1, MemoryLimit: need})
	wants(t, err, "limit")
	q := p.fit(t, options{PriorStd: 1, NoiseStd: 1, MemoryLimit: need + 1<<20})
	_, _, err = q.Joint(t.Context(), dense.Of(make([]float64, 2000), 1000, 2))
	wants(t, err, "joint covariance", "limit")
}

func TestNotPositiveDefinite(t *testing.T) {
	p := newProblem(t, 14, tensor.Float64, 100, 3, 1)
	var bad *graph.NotPositiveDefiniteError
	_, err := fitOptions(t.Context(), p.net, p.x, p.y, options{PriorStd: 1, NoiseStd: 1e-12, Space: spaceFunctions})
	if !errors.As(err, &bad) || bad.Order != 100 {
		t.Errorf("error %v, want a NotPositiveDefiniteError of order 100", err)
	}
	wants(t, err, "s = σ²/σ₀² = 1e-24", "largest diagonal element")
}

func TestCancellation(t *testing.T) {
	p := newProblem(t, 15, tensor.Float64, 20, 4, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fitOptions(ended, p.net, p.x, p.y, options{}); err != context.Canceled {
		t.Errorf("Fit: %v", err)
	}
	for _, after := range []int{5, 20} { // in the middle of the data, and before the search
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		_, err := fitOptions(ctx, p.net, p.x, p.y, options{BatchSize: 5, Progress: func(done, total int) {
			if seen = done; done == after {
				cancel()
			}
			if total != 20 {
				t.Errorf("total is %d", total)
			}
		}})
		if err != context.Canceled || seen != after {
			t.Errorf("cancelled after %d examples: %v after %d", after, err, seen)
		}
		cancel()
	}
	q := p.fit(t, options{PriorStd: 1, NoiseStd: 1})
	if _, err := gp.Predict(ended, q, p.probe); err != context.Canceled {
		t.Errorf("Predict: %v", err)
	}
	if _, _, err := q.Joint(ended, p.probe); err != context.Canceled {
		t.Errorf("Joint: %v", err)
	}
	if _, err := q.at(ended, 1, 1); err != context.Canceled {
		t.Errorf("At: %v", err)
	}
}
