package train

import (
	"cmp"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Adam is the optimizer of Kingma and Ba, Adam: A Method for Stochastic
// Optimization, ICLR 2015, algorithm 1, with PyTorch's conventions: weight
// decay is coupled (it is added to the gradient) and Eps stands outside the
// square root of the bias-corrected second moment. With g ← g + WeightDecay θ:
//
//	m ← β₁ m + (1−β₁) g,   v ← β₂ v + (1−β₂) g²
//	θ ← θ − LR · m/(1−β₁ᵗ) / (√(v/(1−β₂ᵗ)) + Eps)
//
// With Decoupled it is AdamW: θ ← (1 − LR·WeightDecay) θ precedes the step, and the moments do not
// see the decay. Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019,
// algorithm 2, with the learning rate scaling the decay as in PyTorch.
type Adam struct {
	LR          float64 // learning rate; 0 means 1e-3
	Beta1       float64 // decay of m; 0 means 0.9
	Beta2       float64 // decay of v; 0 means 0.999
	Eps         float64 // summand of the denominator; 0 means 1e-8
	WeightDecay float64 // 0 means none
	Decoupled   bool    // the weights decay by themselves and not by way of the gradient

	memory memory // m and v
}

// adamSlots are the arrays that Adam remembers of each parameter.
var adamSlots = []string{"m", "v"}

// Step implements [Optimizer].
func (o *Adam) Step(params []Param, lrScale float64) error {
	s := o.complete()
	if err := s.check(); err != nil {
		return err
	}
	if err := o.memory.begin(params, lrScale, adamSlots); err != nil {
		return err
	}
	o.memory.steps++
	for i, p := range params {
		first, second := o.memory.slots[0].Arrays[i], o.memory.slots[1].Arrays[i]
		if p.Value.Dtype() == tensor.Float32 {
			adamUpdate[float32](s, o.memory.steps, s.LR*lrScale, p, first, second)
		} else {
			adamUpdate[float64](s, o.memory.steps, s.LR*lrScale, p, first, second)
		}
	}
	return nil
}

// State implements [Optimizer].
func (o *Adam) State() State { return o.memory.state(o.name()) }

// SetState implements [Optimizer].
func (o *Adam) SetState(s State) error { return o.memory.setState(s, o.name(), adamSlots) }

// name returns the optimizer and its settings, which a checkpoint holds.
func (o *Adam) name() string {
	s, name := o.complete(), "Adam"
	if s.Decoupled {
		name = "AdamW"
	}
	return fmt.Sprintf("%s lr=%v beta1=%v beta2=%v eps=%v weightdecay=%v", name, s.LR, s.Beta1, s.Beta2, s.Eps, s.WeightDecay)
}

// complete returns the settings with their defaults.
func (o *Adam) complete() *Adam {
	return &Adam{
		LR: orDefault(o.LR, 1e-3), Beta1: orDefault(o.Beta1, 0.9), Beta2: orDefault(o.Beta2, 0.999),
		Eps: orDefault(o.Eps, 1e-8), WeightDecay: o.WeightDecay, Decoupled: o.Decoupled,
	}
}

func (o *Adam) check() error {
	return cmp.Or(
		checkSetting("LR", o.LR, 0, math.Inf(1)),
		checkSetting("Beta1", o.Beta1, 0, 1),
		checkSetting("Beta2", o.Beta2, 0, 1),
		checkSetting("Eps", o.Eps, 0, math.Inf(1)),
		checkSetting("WeightDecay", o.WeightDecay, 0, math.Inf(1)))
}

// adamUpdate makes step t, counted from 1, on one parameter, with the learning rate lr.
func adamUpdate[T kernel.Float](s *Adam, t int, lr float64, p Param, first, second *tensor.Dense) {
	coupled, decoupled := s.WeightDecay, 0.0
	if s.Decoupled {
		coupled, decoupled = 0, s.WeightDecay
	}
	if p.NoDecay {
		coupled, decoupled = 0, 0
	}
	kernel.Adam(floats[T](p.Value), floats[T](first), floats[T](second), floats[T](p.Grad), &kernel.AdamCoefficients[T]{
		Beta1: T(s.Beta1), Rest1: T(1 - s.Beta1),
		Beta2: T(s.Beta2), Rest2: T(1 - s.Beta2),
		Rate:    T(lr / (1 - math.Pow(s.Beta1, float64(t)))),
		Unbias:  T(1 / math.Sqrt(1-math.Pow(s.Beta2, float64(t)))),
		Eps:     T(s.Eps),
		Coupled: T(coupled),
		Keep:    T(1 - lr*decoupled),
	})
}
