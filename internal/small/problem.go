package small

import (
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// A Task says what [Task.Problem] draws: rows of two inputs for a random tanh network.
type Task struct {
	Seed       [2]uint64    // of the weights and the rows
	Dtype      tensor.Dtype // of the weights and the rows
	Rows, Held int          // training rows, and validation rows; without these the problem has none
	Hidden     []int        // widths of the hidden layers
	Outputs    int          // C
	Classes    bool         // the targets are random classes and no numbers
	Std        float64      // of the numbers, which scatter around 0
}

// Problem draws the problem. The noise of numbers has the variance 0.09.
func (s Task) Problem(t testing.TB) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(s.Seed[0], s.Seed[1]))
	net, err := layers.MLP{Inputs: 2, Hidden: s.Hidden, Outputs: s.Outputs, Activation: "tanh"}.New(s.Dtype, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.NewGaussian(0.09, s.Dtype)}
	if s.Classes {
		p.Likelihood = likelihood.Softmax{}
	}
	p.Train = s.draw(rng, s.Rows)
	if s.Held > 0 {
		held := s.draw(rng, s.Held)
		p.Validation = &held
	}
	return p
}

// draw draws n rows. Classes are drawn after numbers, which they replace.
func (s Task) draw(rng *rand.Rand, n int) gp.Examples {
	x, y := Normal(rng, s.Dtype, n, 2), fixture.Normal(rng, n*s.Outputs)
	for i := range y {
		y[i] *= s.Std
	}
	if s.Classes {
		labels := make([]int, n)
		for i := range labels {
			labels[i] = rng.IntN(s.Outputs)
		}
		return gp.Examples{X: x, Y: OneHot(labels, s.Outputs, s.Dtype)}
	}
	return gp.Examples{X: x, Y: graph.Convert(dense.Of(y, n, s.Outputs), s.Dtype)}
}

// Problem draws n training rows and 9 validation rows for a network of one hidden layer with c outputs.
func Problem(t testing.TB, seed uint64, dt tensor.Dtype, n, hidden, c int, classes bool) gp.Problem {
	t.Helper()
	return Task{Seed: [2]uint64{seed, 5}, Dtype: dt, Rows: n, Held: 9, Hidden: []int{hidden}, Outputs: c, Classes: classes, Std: 1}.Problem(t)
}
