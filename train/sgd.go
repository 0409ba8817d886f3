package train

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"

	"gorgonia.org/tensor"
)

// SGD is gradient descent with momentum and coupled weight decay in PyTorch's
// convention (no dampening). With g ← g + WeightDecay θ:
//
//	buf ← Momentum buf + g   (buf = g in the first step)
//	θ ← θ − LR buf,  or with Nesterov  θ ← θ − LR (g + Momentum buf)
//
// Source: Sutskever et al., On the importance of initialization and momentum in
// deep learning, ICML 2013, with the learning rate outside the momentum.
type SGD struct {
	LR          float64 // learning rate; 0 means 1e-3
	Momentum    float64 // 0 means none
	Nesterov    bool    // needs Momentum
	WeightDecay float64 // 0 means none

	memory memory // the buffers
}

// Step implements [Optimizer].
func (o *SGD) Step(params []Param, lrScale float64) error {
	if err := o.check(); err != nil {
		return err
	}
	if err := o.memory.begin(params, lrScale, o.slots()); err != nil {
		return err
	}
	o.memory.steps++
	lr := orDefault(o.LR, 1e-3) * lrScale
	for i, p := range params {
		if p.Value.Dtype() == tensor.Float32 {
			sgdUpdate[float32](o, i, p, lr)
		} else {
			sgdUpdate[float64](o, i, p, lr)
		}
	}
	return nil
}

// State implements [Optimizer].
func (o *SGD) State() State { return o.memory.state(o.name()) }

// SetState implements [Optimizer].
func (o *SGD) SetState(s State) error { return o.memory.setState(s, o.name(), o.slots()) }

var sgdSlots = []string{"momentum"}

// slots returns the names of the arrays that are remembered: none without momentum.
func (o *SGD) slots() []string {
	if o.Momentum == 0 {
		return nil
	}
	return sgdSlots
}

func (o *SGD) name() string {
	return fmt.Sprintf("SGD lr=%v momentum=%v nesterov=%v weightdecay=%v",
		orDefault(o.LR, 1e-3), o.Momentum, o.Nesterov, o.WeightDecay)
}

func (o *SGD) check() error {
	if o.Nesterov && o.Momentum == 0 {
		return errors.New("train: SGD with Nesterov needs Momentum")
	}
	return cmp.Or(
		checkSetting("LR", o.LR, 0, math.Inf(1)),
		checkSetting("Momentum", o.Momentum, 0, math.Inf(1)),
		checkSetting("WeightDecay", o.WeightDecay, 0, math.Inf(1)))
}

// sgdUpdate updates parameter i. A buffer of zeros makes the first step's
// buf = g without a case of its own.
func sgdUpdate[T kernel.Float](o *SGD, i int, p Param, lr float64) {
	theta, g := floats[T](p.Value), floats[T](p.Grad)
	rate, decay, momentum := T(lr), T(o.WeightDecay), T(o.Momentum)
	if p.NoDecay {
		decay = 0
	}
	if o.Momentum == 0 {
		for i, x := range theta {
			theta[i] = x - rate*(g[i]+decay*x)
		}
		return
	}
	buf := floats[T](o.memory.slots[0].Arrays[i])
	for i, x := range theta {
		d := g[i] + decay*x
		buf[i] = momentum*buf[i] + d
		if o.Nesterov {
			d += momentum * buf[i]
		} else {
			d = buf[i]
		}
		theta[i] = x - rate*d
	}
}
