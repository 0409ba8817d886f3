package layers

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

func TestRescaled(t *testing.T) {
	rng := newRand(3)
	dense := NewDense("a", 2, 2, tensor.Float64, rng)
	factors, x := []float64{4, -0.5}, arrayOf(tensor.Float64, []float64{0.3, -1, 2, 0.5}, 2, 2)
	for name, net := range map[string]Sequential{
		"dense at the end":    {dense, Activation("tanh"), NewDense("b", 2, 2, tensor.Float64, rng)},
		"activation":          {dense, Activation("tanh")},
		"shared dense layers": {dense, Activation("sin"), dense},
		"no layer":            {},
	} {
		before := forward(t, append(Sequential{Flatten{}}, net...), x)
		scaled := Rescaled(net, factors)
		after := forward(t, append(Sequential{Flatten{}}, scaled...), x)
		for i, v := range before {
			if after[i] != v*factors[i%2] {
				t.Errorf("%s: output %d is %g, expected %g", name, i, after[i], v*factors[i%2])
			}
		}
		names := func(l Sequential) (all []string) {
			for _, p := range l.Params() {
				all = append(all, p.Name)
			}
			return all
		}
		if !slices.Equal(names(net), names(scaled)) {
			t.Errorf("%s: arrays %v, expected %v", name, names(scaled), names(net))
		}
		if again := forward(t, append(Sequential{Flatten{}}, net...), x); !slices.Equal(before, again) {
			t.Errorf("%s: the network itself has changed", name)
		}
	}
}

func TestRescaleErrors(t *testing.T) {
	for _, factors := range [][]float64{nil, {1}, {1, 0}} {
		if err := Check(SequentialForm{Input: []int{2}, Layers: Layers{DenseLayer{Outputs: 2}, Rescale{Factors: factors}}}); err == nil {
			t.Errorf("no error for the factors %v", factors)
		}
	}
}
