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
type Adam struct {
	LR          float64 // learning rate; 0 means 1e-3
	Beta1       float64 // decay of m; 0 means 0.9
	Beta2       float64 // decay of v; 0 means 0.999
	Eps         float64 // 0 means 1e-8
	WeightDecay float64 // 0 means none

	memory memory // the moments
}

var adamSlots = []string{"m", "v"}

// Step implements [Optimizer].
func (o *Adam) Step(params []Param, lrScale float64) error {
	s := o.settings()
	s.coupled = s.weightDecay
	return s.step(&o.memory, params, lrScale)
}

// State implements [Optimizer].
func (o *Adam) State() State { return o.memory.state(o.name()) }

// SetState implements [Optimizer].
func (o *Adam) SetState(s State) error { return o.memory.setState(s, o.name(), adamSlots) }

func (o *Adam) name() string { return "Adam " + o.settings().String() }

func (o *Adam) settings() adamSettings {
	return adamSettings{
		lr:    orDefault(o.LR, 1e-3),
		beta1: orDefault(o.Beta1, 0.9), beta2: orDefault(o.Beta2, 0.999),
		eps: orDefault(o.Eps, 1e-8), weightDecay: o.WeightDecay,
	}
}

// adamSettings are the settings of Adam and AdamW with the defaults filled in.
// Of the two ways of decaying weights at most one is not zero.
type adamSettings struct {
	lr, beta1, beta2, eps, weightDecay float64 // as in Adam
	coupled, decoupled                 float64 // weight decay of Adam, and of AdamW
}

func (s adamSettings) String() string {
	return fmt.Sprintf("lr=%v beta1=%v beta2=%v eps=%v weightdecay=%v", s.lr, s.beta1, s.beta2, s.eps, s.weightDecay)
}

func (s adamSettings) check() error {
	return cmp.Or(
		checkSetting("LR", s.lr, 0, math.Inf(1)),
		checkSetting("Beta1", s.beta1, 0, 1),
		checkSetting("Beta2", s.beta2, 0, 1),
		checkSetting("Eps", s.eps, 0, math.Inf(1)),
		checkSetting("WeightDecay", s.weightDecay, 0, math.Inf(1)))
}

func (s adamSettings) step(m *memory, params []Param, lrScale float64) error {
	if err := s.check(); err != nil {
		return err
	}
	if err := m.begin(params, lrScale, adamSlots); err != nil {
		return err
	}
	m.steps++
	for i, p := range params {
		first, second := m.slots[0].Arrays[i], m.slots[1].Arrays[i]
		if p.Value.Dtype() == tensor.Float32 {
			adamUpdate[float32](s, m.steps, s.lr*lrScale, p, first, second)
		} else {
			adamUpdate[float64](s, m.steps, s.lr*lrScale, p, first, second)
		}
	}
	return nil
}

// adamUpdate makes the step on one parameter, the t-th, with the learning rate lr.
func adamUpdate[T Float](s adamSettings, t int, lr float64, p Param, first, second *tensor.Dense) {
	kernel.Adam(floats[T](p.Value), floats[T](first), floats[T](second), floats[T](p.Grad), &kernel.AdamCoefficients[T]{
		Beta1: T(s.beta1), Rest1: T(1 - s.beta1),
		Beta2: T(s.beta2), Rest2: T(1 - s.beta2),
		Rate:    T(lr / (1 - math.Pow(s.beta1, float64(t)))),
		Unbias:  T(1 / math.Sqrt(1-math.Pow(s.beta2, float64(t)))),
		Eps:     T(s.eps),
		Coupled: T(s.coupled),
		Keep:    T(1 - lr*s.decoupled),
	})
}
