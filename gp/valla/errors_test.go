package valla

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// wants fails unless err has the words in it.
func wants(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %v, want %q in it", what, err, w)
		}
	}
}

func TestNewErrors(t *testing.T) {
	p := newToy(t, 1, tensor.Float64, size{2, 3})
	k := jacobian.NTK{Net: p.net}
	ints := tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(make([]int, 6)))
	rng := rand.New(rand.NewPCG(1, 1))
	z := small.Normal(rng, tensor.Float64, 3, 2)
	for _, c := range []struct {
		z     *tensor.Dense
		class []int
		want  string
	}{
		{small.Normal(rng, tensor.Float64, 3), nil, "inducing inputs have shape (3), expected [M,…]"},
		{z, []int{0, 1}, "2 classes for 3 inducing points"},
		{z, []int{0, -1, 1}, "class[1] is -1"},
		{ints, nil, "inducing inputs are int, expected float32 or float64"},
	} {
		_, err := NewLayer(k, c.z, c.class)
		wants(t, "New", err, c.want)
	}
	l, err := NewLayer(k, z, nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.Inducing() != 3 || l.PriorStd() != 1 {
		t.Errorf("M = %d and σ₀ = %g, want 3 and 1", l.Inducing(), l.PriorStd())
	}
	for i, want := range []float64{1, 0, 1, 0, 0, 1} { // the identity's lower triangle by rows
		if l.L.At(i) != want {
			t.Errorf("L[%d] = %g, want %g", i, l.L.At(i), want)
		}
	}
}

// TestFitErrors: data that do not suit the network, one line that names both.
func TestFitErrors(t *testing.T) {
	p := newToy(t, 1, tensor.Float64, size{2, 3})
	rng := rand.New(rand.NewPCG(1, 1))
	data := func(dt tensor.Dtype, rows, cols int) *tensor.Dense { return small.Normal(rng, dt, rows, cols) }
	for what, c := range map[string]struct {
		x, y *tensor.Dense
		want []string
	}{
		"rows":            {p.x, data(tensor.Float64, 5, 2), []string{"(6, 2)", "(5, 2)", "bad problem: "}},
		"width of x":      {data(tensor.Float64, 6, 4), p.y, []string{"(6, 4)", "(2, 6)", "valla: "}},
		"width of y":      {p.x, data(tensor.Float64, 6, 1), []string{"(6, 1)", "(6, 2)", "valla: "}},
		"vector y":        {p.x, small.Normal(rng, tensor.Float64, 6), []string{"(6)", "(6, 2)", "bad problem: "}},
		"type of y":       {p.x, data(tensor.Float32, 6, 2), []string{"float32", "float64", "bad problem: "}},
		"type of network": {data(tensor.Float32, 6, 2), data(tensor.Float32, 6, 2), []string{"float32", "float64", "bad problem: "}},
	} {
		_, err := p.fit(1).Run(ctx, c.x, c.y)
		wants(t, what, err, c.want...)
	}
	p.layer.Class[1] = 7
	_, err := p.fit(1).Run(ctx, p.x, p.y)
	wants(t, "class", err, "class[1] is 7", "2 outputs")
	p.layer.Class[1] = 1
	f := p.fit(1)
	for _, alpha := range []float64{-0.1, 1.1} {
		f.Alpha = new(alpha)
		_, err := f.Run(ctx, p.x, p.y)
		wants(t, "α", err, "out of range")
	}
}

// TestFitValidationErrors: held-out rows that do not suit.
func TestFitValidationErrors(t *testing.T) {
	p := newToy(t, 1, tensor.Float64, size{2, 3})
	five := small.Normal(rand.New(rand.NewPCG(1, 1)), tensor.Float64, 5, 2)
	for _, c := range []struct {
		want string
		x, y *tensor.Dense
	}{
		{"inputs or targets are nil", p.x, nil},
		{"inputs or targets are nil", nil, p.y},
		{"(6, 2) with targets of shape", p.x, five},
		{"inputs are float32", graph.Convert(p.x, tensor.Float32), p.y},
	} {
		f := p.fit(1)
		f.ValidationX, f.ValidationY = c.x, c.y
		_, err := f.Run(ctx, p.x, p.y)
		wants(t, "validation", err, c.want, "bad problem: validation examples: ")
	}
}

// TestFitValidates: the value of the validation is the mean negative log predictive density
// of the held-out targets, computed here output by output from the predictions.
func TestFitValidates(t *testing.T) {
	p := newToy(t, 3, tensor.Float64, size{1, 3})
	f := p.fit(4)
	f.ValidationX, f.ValidationY = p.x, p.y
	res, err := f.Run(ctx, p.x, p.y)
	if err != nil || len(res.History) != 1 {
		t.Fatal(res, err)
	}
	g, err := gp.Predict(ctx, newPosterior(p.net, p.layer), p.x)
	if err != nil {
		t.Fatal(err)
	}
	r := p.y.Clone().(*tensor.Dense).Float64s()
	for i, m := range g.Mean {
		r[i] -= m
	}
	noise := likelihood.NoiseVariance(p.lik)
	want := nll(r, func(i int) float64 { return g.Cov[i] + noise })
	if math.Abs(res.BestValue-want) > 1e-12 {
		t.Errorf("validation value %.15g, want %.15g", res.BestValue, want)
	}
}
