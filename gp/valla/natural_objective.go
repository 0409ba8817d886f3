package valla

import (
	"cmp"
	"context"
	"fmt"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// natural is the train.Objective of a natural-gradient fit.
//
// A step goes through these files. draws.go deals a mini-batch, and picks.go chooses outputs of
// its examples. natural_inputs.go computes the network's outputs and the kernel at a part of it.
// whiten.go turns these into whitened rows and asks the likelihood (local.go) about them.
// natural_step.go adds the parts up and makes the step of T for every σ₀ on the ladder
// (ladder.go), with the formulas of basis.go. Now and then validation.go compares the σ₀ and
// moves the ladder. The gradient for Z comes from natural_inputs.go again, and package train
// makes the step of Adam.
type natural struct {
	f       Natural
	alpha   float64
	outputs int
	dt      tensor.Dtype

	draws  *draws
	picks  *picks   // nil: all outputs
	locals []*local // one for each rung
	ladder *ladder
	inputs *inputs
	check  *validation // nil without validation examples

	params   []train.Param
	identity []string
	jitter   float64 // the most so far
}

var (
	_ train.Objective  = (*natural)(nil)
	_ train.Stateful   = (*natural)(nil)
	_ train.Identifier = (*natural)(nil)
)

// newNatural prepares a fit whose defaults are filled in.
func newNatural(ctx context.Context, f Natural, x, y *tensor.Dense) (*natural, error) {
	n := &natural{f: f, alpha: alphaOf(f.Alpha), dt: f.Layer.Z.Value.Dtype()}
	err := cmp.Or(checkData(n.dt, x, y), checkHeld(n.dt, f.ValidationX, f.ValidationY))
	if err != nil {
		return nil, err
	}
	n.outputs = y.Shape()[1]
	if n.draws, err = n.drawn(ctx, x, y, f.BatchSize); err != nil {
		return nil, err
	}
	if n.draws.upTo != nil {
		n.picks = n.newPicks(f.Outputs)
	}
	start := f.Layer.LogPriorStd.At(0)
	if !f.FixPrior && f.ValidationX != nil {
		start = 0 // in the middle of what a scan looks at
	}
	n.ladder = newLadder(f.Layer.Inducing(), f.rungs(), start, flat(f.Likelihood.Params()))
	if n.inputs, err = n.newInputs(x, y); err != nil {
		return nil, err
	}
	for range n.ladder.rungs() {
		l, err := newLocal(f.Likelihood, n.alpha, n.inputs.size, n.outputs, n.dt)
		if err != nil {
			return nil, err
		}
		n.locals = append(n.locals, l)
	}
	if n.picks != nil {
		if n.picks.local, err = newLocal(f.Likelihood, n.alpha, n.inputs.size, n.outputs, n.dt); err != nil {
			return nil, err
		}
	}
	if f.ValidationX != nil {
		if n.check, err = n.newValidation(ctx); err != nil {
			return nil, err
		}
	}
	n.listParams()
	n.identify(x, y)
	return n, nil
}

// rungs is how many σ₀ there are at once.
func (f Natural) rungs() int {
	switch {
	case f.FixPrior:
		return 1
	case len(f.Likelihood.Params()) > 0:
		return manyRungs
	}
	return fewRungs
}

// checkHeld checks the examples held out, where there are any.
func checkHeld(dt tensor.Dtype, x, y *tensor.Dense) error {
	switch {
	case (x == nil) != (y == nil):
		return fmt.Errorf("validation inputs and targets, expected both or neither")
	case x == nil:
		return nil
	}
	return checkData(dt, x, y)
}

// checkData refuses what would broadcast or be read past its end.
func checkData(dt tensor.Dtype, x, y *tensor.Dense) error {
	switch {
	case y.Dims() != 2 || x.Dims() < 2 || x.Shape()[0] != y.Shape()[0]:
		return fmt.Errorf("inputs of shape %v with targets of shape %v, expected [N,…] and [N,C]", x.Shape(), y.Shape())
	case x.Dtype() != dt || y.Dtype() != dt:
		return fmt.Errorf("inputs are %v and targets %v, the layer %v", x.Dtype(), y.Dtype(), dt)
	}
	return nil
}

// listParams lists what Adam moves: Z and the likelihood's parameters of all rungs.
func (n *natural) listParams() {
	if !n.f.FixInducing {
		z := n.f.Layer.Z
		n.params = append(n.params, train.Param{Name: z.Name, Value: z.Value, Grad: like(z.Value)})
	}
	if n.ladder.width > 0 && !n.f.FixLikelihood {
		n.params = append(n.params, train.Param{Name: nameNoise, Value: n.ladder.noise, Grad: n.ladder.noiseGrad})
	}
}

func like(t *tensor.Dense) *tensor.Dense {
	return tensor.New(tensor.Of(t.Dtype()), tensor.WithShape(t.Shape().Clone()...))
}

// Params implements train.Objective.
func (n *natural) Params() []train.Param { return n.params }

// State implements train.Stateful: the ladder is the state.
func (n *natural) State() train.ObjectiveState {
	return train.ObjectiveState{Arrays: n.ladder.arrays(n.f.FixLikelihood), Numbers: &n.ladder.numbers}
}

// Identity implements train.Identifier.
func (n *natural) Identity() []string { return n.identity }

// identify writes down the identity, which speaks of the start.
func (n *natural) identify(x, y *tensor.Dense) {
	f := n.f
	n.identity = []string{
		fmt.Sprintf("natural gradients with batches of %d of %d rows in %d parts, seed %d", n.draws.size, n.draws.n, n.inputs.parts, n.draws.seed),
		"training " + train.Rows{All: x}.Identity(), "targets " + train.Checksum(y),
	}
	n.identity = append(n.identity, layerIdentity(f.Net, f.Layer, f.Alpha, f.FixInducing, f.FixPrior)...)
	n.identity = append(n.identity, likelihoodIdentity(f.Likelihood, f.FixLikelihood))
	n.identity = append(n.identity, heldIdentity(f.ValidationX, f.ValidationY)...)
	for _, v := range []*tensor.Dense{f.Beside, f.ValidationBeside} {
		if v != nil {
			n.identity = append(n.identity, "variances beside the layer's "+train.Checksum(v))
		}
	}
	if n.check != nil {
		n.identity = append(n.identity, fmt.Sprintf("validation of %d rows at a time", n.check.local.rows))
	}
}

// fate says in an identity whether something is fitted.
func fate(fixed bool) string {
	if fixed {
		return "fixed"
	}
	return "free"
}

// layerIdentity tells fits of a layer apart before their first step.
func layerIdentity(net layers.Network, l *Layer, alpha *float64, fixInducing, fixPrior bool) []string {
	return []string{
		"network with fingerprint " + layers.Fingerprint(net),
		fmt.Sprintf("alpha %g", alphaOf(alpha)),
		fmt.Sprintf("inducing inputs %s, %s", train.Checksum(l.Z.Value), fate(fixInducing)),
		fmt.Sprintf("inducing points of the outputs %v", l.Class),
		fmt.Sprintf("prior std %v, %s", l.PriorStd(), fate(fixPrior)),
	}
}

// likelihoodIdentity tells likelihoods apart before the first step.
func likelihoodIdentity(l likelihood.Likelihood, fixed bool) string {
	return fmt.Sprintf("likelihood %v with parameters %v, %s", l, flat(l.Params()), fate(fixed))
}

// heldIdentity tells validation examples apart.
func heldIdentity(x, y *tensor.Dense) []string {
	if x == nil {
		return []string{"no validation rows"}
	}
	return []string{"validation inputs " + train.Checksum(x), "validation targets " + train.Checksum(y)}
}

// Evaluate implements train.Objective: it makes the natural-gradient step of every rung
// and computes the gradient for Z at the leading one.
func (n *natural) Evaluate(ctx context.Context, iteration int) (float64, error) {
	if err := n.search(ctx, iteration); err != nil {
		return 0, err
	}
	p := n.pace(iteration)
	s, err := n.pass(ctx, iteration, p)
	if err != nil {
		return 0, err
	}
	if err := n.step(s, p, iteration); err != nil {
		return 0, err
	}
	return s.losses[n.ladder.lead()], nil
}
