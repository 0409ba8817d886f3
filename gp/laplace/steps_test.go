package laplace

import (
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
)

// TestStepsKFAC: a dense layer at each step of a sequence is a convolution of filters of 1×1, of which the steps are the
// places. KFAC keeps the same Kronecker product of both.
func TestStepsKFAC(t *testing.T) {
	const n, steps, inputs, hidden, outputs = 9, 3, 4, 2, 3
	sequences, probes := small.Normal(newRand(91), tensor.Float64, n, steps, inputs).Float64s(), small.Normal(newRand(92), tensor.Float64, 3, steps, inputs).Float64s()
	images := func(v []float64) *tensor.Dense { // [·,inputs,steps,1]
		turned := make([]float64, len(v))
		for i := range v {
			row, step, k := i/(steps*inputs), i/inputs%steps, i%inputs
			turned[(row*inputs+k)*steps+step] = v[i]
		}
		return dense.Of(turned, len(v)/(steps*inputs), inputs, steps, 1)
	}
	each, last := layers.NewDense("shared", inputs, hidden, tensor.Float64, newRand(93)), layers.NewDense("last", steps*hidden, outputs, tensor.Float64, newRand(94))
	conv, after := layers.NewConv2D("shared", inputs, hidden, 1, 1, 0, tensor.Float64, newRand(95)), layers.NewDense("last", steps*hidden, outputs, tensor.Float64, newRand(94))
	filters, _ := conv.Weights()
	for k := range inputs {
		for o := range hidden {
			each.B.Set(o, 0) // the convolution has none
			filters.Set(o*inputs+k, each.W.At(k*hidden+o))
		}
	}
	for step := range steps {
		for o := range hidden {
			for c := range outputs {
				after.W.Set((o*steps+step)*outputs+c, last.W.At((step*hidden+o)*outputs+c))
			}
		}
	}
	p := newClasses(t, 96, tensor.Float64, n, 4, outputs)
	o := options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}, PriorStd: 1, Weights: []string{"shared.weight"}}
	p.net, p.x = layers.Sequential{each, layers.Activation("tanh"), layers.Flatten{}, last}, dense.Of(sequences, n, steps, inputs)
	q := p.fit(t, o)
	if k := q.scan.blocks[0]; k.places != steps || k.p != inputs || k.q != hidden {
		t.Fatalf("a block of %d places, %d×%d", k.places, k.p, k.q)
	}
	_, got := small.Moments(t, q, dense.Of(probes, 3, steps, inputs))
	p.net, p.x = layers.Sequential{conv, layers.Activation("tanh"), layers.Flatten{}, after}, images(sequences)
	_, want := small.Moments(t, p.fit(t, o), images(probes))
	fixture.Close(t, "covariances", got, want, 1e-10)
}
