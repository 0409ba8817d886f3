package ensemble

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
)

// TestMix: moments, probabilities and the epistemic share of two members by hand.
func TestMix(t *testing.T) {
	all := []gp.Gaussian{
		{Mean: []float64{1, 0}, Cov: []float64{4, 1, 1, 2}, Epistemic: []float64{0.5, 1}, Probs: []float64{0.75, 0.25}},
		{Mean: []float64{3, -2}, Cov: []float64{2, 0, 0, 2}, Epistemic: []float64{1, 0}, Probs: []float64{0.25, 0.75}},
	}
	m := &mixture{noise: []float64{2, 4}}
	var g gp.Gaussian
	m.mix(all, &g)
	for name, c := range map[string][2][]float64{
		"mean":  {g.Mean, {2, -1}},
		"cov":   {g.Cov, {3 + 1, 0.5 - 1, 0.5 - 1, 2 + 1}},
		"probs": {g.Probs, {0.5, 0.5}},
		// The first output has the variance 4 beside the noise 3. More data would not take away half of 4 + 2, and nothing of 2 + 4.
		"epistemic": {g.Epistemic, {1 - 1.5/7, 1 - 3.0/6}},
	} {
		for i, want := range c[1] {
			if math.Abs(c[0][i]-want) > 1e-12 {
				t.Errorf("%s: %v, want %v", name, c[0], c[1])
				break
			}
		}
	}
}

// TestRestoreErrors: a header with too few members, or with a noise that is none, is refused in one line.
func TestRestoreErrors(t *testing.T) {
	net, err := layers.Build(layers.SequentialForm{Input: []int{2}, Layers: layers.Layers{layers.EnsembleLayer{
		Networks: []layers.Layers{{layers.DenseLayer{Outputs: 1}}, {layers.DenseLayer{Outputs: 1}}}}}}, tensor.Float64, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	for want, h := range map[string]header{
		"1 members and 2 noise variances, expected 2 as networks": {Members: make([]json.RawMessage, 1), Noise: []float64{1, 1}},
		"noise variance -1 of network 1":                          {Members: make([]json.RawMessage, 2), Noise: []float64{-1, 1}},
		"network 1: ":                                             {Members: []json.RawMessage{[]byte("{}"), []byte("{}")}, Noise: []float64{1, 1}},
	} {
		s, err := gptest.Memory(gp.State{Header: h})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(context.Background(), laplace.Method, net, nil, s); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// TestEstimate: an ensemble takes the operations of all members.
func TestEstimate(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 30, 4, 2, false)
	s := &laplace.Settings{PriorStd: 1, NoiseStd: 1}
	one, err := s.Estimate(t.Context(), p, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	member := p.Net.(layers.Sequential)
	p.Net = layers.Sequential{layers.Ensemble{member, member, member}}
	all, err := Of(p.Net, s).(gp.Estimator).Estimate(t.Context(), p, gp.Run{})
	if err != nil || one.Flops.Double == 0 || all.Flops != one.Flops.Times(3) || all.RowFlops != one.RowFlops.Times(3) {
		t.Errorf("operations %v and %v of a row, of a member %v and %v, error %v", all.Flops, all.RowFlops, one.Flops, one.RowFlops, err)
	}
}
