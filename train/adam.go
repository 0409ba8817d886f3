package train

import (
	"cmp"
	"fmt"
	"math"

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

	memory memory
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
	lr, beta1, beta2, eps, weightDecay float64
	coupled, decoupled                 float64
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
	c := s.coefficients(m.steps, s.lr*lrScale)
	for i, p := range params {
		if p.Kept {
			continue
		}
		first, second := m.slots[0].Arrays[i], m.slots[1].Arrays[i]
		if p.Value.Dtype() == tensor.Float32 {
			adamUpdate[float32](c, p, first, second)
		} else {
			adamUpdate[float64](c, p, first, second)
		}
	}
	return nil
}

// adamCoefficients are what all elements share in one step:
//
//	g ← g + coupled θ,  θ ← keep θ − rate m / (√v · unbias + eps)
type adamCoefficients struct {
	beta1, rest1, beta2, rest2 float64 // rest = 1 − beta
	rate, unbias, eps          float64
	coupled, keep              float64
}

func (s adamSettings) coefficients(t int, lr float64) adamCoefficients {
	return adamCoefficients{
		beta1: s.beta1, rest1: 1 - s.beta1,
		beta2: s.beta2, rest2: 1 - s.beta2,
		rate:    lr / (1 - math.Pow(s.beta1, float64(t))),
		unbias:  1 / math.Sqrt(1-math.Pow(s.beta2, float64(t))),
		eps:     s.eps,
		coupled: s.coupled,
		keep:    1 - lr*s.decoupled,
	}
}

func adamUpdate[T Float](c adamCoefficients, p Param, first, second *tensor.Dense) {
	theta, g := floats[T](p.Value), floats[T](p.Grad)
	m, v := floats[T](first), floats[T](second)
	g, m, v = g[:len(theta)], m[:len(theta)], v[:len(theta)] // one bounds check for all
	beta1, rest1, beta2, rest2 := T(c.beta1), T(c.rest1), T(c.beta2), T(c.rest2)
	rate, unbias, eps := T(c.rate), T(c.unbias), T(c.eps)
	coupled, keep := T(c.coupled), T(c.keep)
	for i, x := range theta {
		d := g[i] + coupled*x
		mi := beta1*m[i] + rest1*d
		vi := beta2*v[i] + rest2*d*d
		m[i], v[i] = mi, vi
		theta[i] = keep*x - rate*mi/(T(math.Sqrt(float64(vi)))*unbias+eps)
	}
}
