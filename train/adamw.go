package train

// AdamW is [Adam] with decoupled weight decay: θ ← (1 − LR·WeightDecay) θ before
// the step of Adam, whose moments do not see the decay. Source: Loshchilov and
// Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, with
// the learning rate scaling the decay as in PyTorch.
type AdamW struct {
	LR          float64 // learning rate; 0 means 1e-3
	Beta1       float64 // decay of m; 0 means 0.9
	Beta2       float64 // decay of v; 0 means 0.999
	Eps         float64 // 0 means 1e-8
	WeightDecay float64 // 0 means none, which makes this Adam

	memory memory
}

// Step implements [Optimizer].
func (o *AdamW) Step(params []Param, lrScale float64) error {
	s := o.settings()
	s.decoupled = s.weightDecay
	return s.step(&o.memory, params, lrScale)
}

// State implements [Optimizer].
func (o *AdamW) State() State { return o.memory.state(o.name()) }

// SetState implements [Optimizer].
func (o *AdamW) SetState(s State) error { return o.memory.setState(s, o.name(), adamSlots) }

func (o *AdamW) name() string { return "AdamW " + o.settings().String() }

func (o *AdamW) settings() adamSettings {
	return (&Adam{LR: o.LR, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay}).settings()
}
