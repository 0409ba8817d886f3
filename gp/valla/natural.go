package valla

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/steps"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// naturalCheckpoint is the number of steps between two checkpoints.
const naturalCheckpoint = 50

// natural fits the layer by natural gradients: a [train.Objective] that reaches in some hundred to
// 2,000 steps what Adam reaches in 40,000. It treats each unknown in its own way.
//
//   - A follows natural gradients, which average natural parameters over mini-batches. With
//     K̂_z = RRᵀ, whitened rows v = R⁻¹ k̂ and K_z A K_z = σ₀⁴ R T Rᵀ, a step is
//     T ← (1−ρ) T + ρ Σ_b Σ_c w_b λ_bc v_bc v_bcᵀ,   λ_bc = −2 ∂ℓ_b/∂Q_cc
//     (Khan and Rue 2023; Adam, Chang, Khan and Solin 2021). ρ is 2/(t+2), which weighs
//     step t by t. It does not fall below what averages over an epoch or two, since Z moves,
//     and it is smaller where a step would go too far. For Gaussian noise and α = 0 the
//     fixed point is the A of Prop. 2 of the paper, and one step over all data reaches it.
//   - σ₀ is found by comparison: the fit runs at several values of σ₀ at once, which share the
//     network's Jacobians, and keeps the value that predicts held-out rows best. Without held-out
//     rows σ₀ minimises the objective, which is known to make it too small.
//   - Z and the likelihood's parameters follow Adam.
//   - Mini-batches prefer examples with a large |λ|, since most λ are near 0. The weights w_b
//     make up for that.
//
// The algebra is in float64 whatever the network holds. The layer's L at the start is not used.
//
// A step goes through these files. draws.go deals a mini-batch, and picks.go chooses outputs of
// its examples. rows.go computes the network's outputs and the kernel at a part of the mini-batch.
// whiten.go turns these into whitened rows and asks the likelihood (steps.DataTerm) about them.
// step.go adds the parts up and makes the step of T for every σ₀ on the ladder (ladder.go), with the
// formulas of basis.go. choice.go chooses σ₀: before the first step, and at each validation
// (validation.go). The gradient for Z comes from rows.go again, and package train makes the step
// of Adam.
type natural struct {
	*fitting              // the problem, the settings and the layer
	memory   int64        // bytes that a step may need, and half as many the validation beside it; 0 is no limit
	alpha    float64      // α of the objective
	outputs  int          // C
	width    int          // W, the numbers of a target of one output
	dt       tensor.Dtype // element type of the network

	draws  *draws            // deals mini-batches
	picks  *picks            // nil: a step looks at all outputs
	terms  []*steps.DataTerm // one for each rung
	ladder *ladder           // σ₀ and T
	inputs *inputs           // the network and the kernel at a mini-batch
	check  *validation       // nil without held-out rows

	params   []train.Param // what Adam moves: Z and the likelihood's parameters of all rungs
	identity []string      // of the start
}

var (
	_ train.Objective  = (*natural)(nil)
	_ train.Stateful   = (*natural)(nil)
	_ train.Identifier = (*natural)(nil)
)

// newNatural prepares the steps of a fit within the given memory.
func newNatural(ctx context.Context, f *fitting, memory int64) (*natural, error) {
	n := &natural{fitting: f, memory: memory, alpha: *f.s.Alpha, dt: f.p.Dtype(), outputs: f.p.Outputs(), width: f.p.Likelihood.Width()}
	return n, fault.In("valla", n.prepare(ctx))
}

// prepare makes what the steps need.
func (n *natural) prepare(ctx context.Context) (err error) {
	rows, size := n.p.Train.N(), n.s.BatchSize
	if n.draws, err = n.drawn(ctx, n.p.Train, float64(n.p.All())/float64(rows), size, scored(rows, size, n.loop.Iterations)); err != nil {
		return err
	}
	if n.draws.upTo != nil {
		n.picks = n.newPicks(fewOutputs)
	}
	start := n.layer.LogPriorStd.At(0)
	if !n.s.FixPrior && n.p.Validation != nil {
		start = 0 // in the middle of what a scan looks at
	}
	n.ladder = newLadder(n.layer.Inducing(), n.rungs(), start, graph.Flat(n.lik.Params()))
	if n.inputs, err = n.newInputs(n.p.Train); err != nil {
		return err
	}
	if err := n.newTerms(); err != nil {
		return err
	}
	if n.p.Validation != nil {
		if n.check, err = n.newValidation(ctx); err != nil {
			return err
		}
	}
	n.listParams()
	n.identify()
	return nil
}

// rungs is how many σ₀ there are at once.
func (n *natural) rungs() int {
	switch {
	case n.s.FixPrior:
		return 1
	case len(n.lik.Params()) > 0:
		return manyRungs
	}
	return fewRungs
}

// newTerms compiles the data terms of the rungs and of the choice of outputs.
func (n *natural) newTerms() error {
	for range n.ladder.rungs() {
		l, err := steps.NewDataTerm(n.lik, n.alpha, n.inputs.size, n.outputs, n.dt)
		if err != nil {
			return err
		}
		n.terms = append(n.terms, l)
	}
	if n.picks == nil {
		return nil
	}
	var err error
	n.picks.term, err = steps.NewDataTerm(n.lik, n.alpha, n.inputs.size, n.outputs, n.dt)
	return err
}

// listParams lists what Adam moves.
func (n *natural) listParams() {
	if !n.s.FixInducing {
		z := n.layer.Z
		n.params = append(n.params, train.Param{Name: z.Name, Value: z.Value, Grad: like(z.Value)})
	}
	if n.ladder.width > 0 && !n.s.FixNoise {
		n.params = append(n.params, train.Param{Name: nameNoise, Value: n.ladder.noise, Grad: n.ladder.noiseGrad})
	}
}

// like returns zeros of the shape and the element type of t.
func like(t *tensor.Dense) *tensor.Dense {
	return tensor.New(tensor.Of(t.Dtype()), tensor.WithShape(t.Shape().Clone()...))
}

// Params implements train.Objective.
func (n *natural) Params() []train.Param { return n.params }

// State implements train.Stateful: the ladder is the state.
func (n *natural) State() train.ObjectiveState {
	return train.ObjectiveState{Arrays: n.ladder.arrays(n.s.FixNoise), Numbers: &n.ladder.numbers}
}

// Identity implements train.Identifier.
func (n *natural) Identity() []string { return n.identity }

// identify writes down the identity, which speaks of the start.
func (n *natural) identify() {
	n.identity = append([]string{
		fmt.Sprintf("natural gradients with batches of %d of %d rows in %d parts, seed %d", n.draws.size, n.draws.n, n.inputs.parts, n.draws.seed),
		"training " + train.Rows{All: n.p.Train.X}.Identity(), "targets " + train.Checksum(n.p.Train.Y),
	}, n.steps().Lines()...)
	for _, v := range []*tensor.Dense{n.others.train, n.others.held} {
		if v != nil {
			n.identity = append(n.identity, "variances beside the layer's "+train.Checksum(v))
		}
	}
	if n.check != nil {
		n.identity = append(n.identity, fmt.Sprintf("validation of %d rows at a time", n.check.term.Rows))
	}
}

// Evaluate implements train.Objective: it makes the natural-gradient step of every rung
// and computes the gradient for Z at the leading rung.
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

// presentSpectra are the spectra of the present Z and T.
func (n *natural) presentSpectra() ([]*spectrum, error) {
	f, err := n.presentFrame()
	if err != nil {
		return nil, err
	}
	spectra, err := n.ladder.spectra(f, true)
	if err == nil {
		n.ladder.remember()
	}
	return spectra, err
}

// presentFrame is the frame of the present Z.
func (n *natural) presentFrame() (*frame, error) {
	b := graph.NewBuilder(n.dt)
	values, err := graph.Evaluate(b, n.layer.Kernel.Gram(b, b.Param(n.layer.Z), n.layer.Class))
	if err != nil {
		return nil, err
	}
	f, err := newFrame(n.layer.Inducing(), values[0], leastJitter(n.dt))
	if err == nil {
		n.ladder.jittered(f)
	}
	return f, err
}

// export sets the layer's L and σ₀ and the likelihood's parameters to the values of the leading
// rung. Without held-out rows the leading rung is the rung of the smallest objective.
func (n *natural) export() error {
	losses := n.ladder.losses.Float64s()[:n.ladder.rungs()]
	if n.check == nil && slices.ContainsFunc(losses, func(v float64) bool { return v != 0 }) { // all are 0 before the first step
		n.ladder.choose(losses)
	}
	spectra, err := n.presentSpectra()
	if err != nil {
		return err
	}
	lead := n.ladder.lead()
	root, err := spectra[lead].root(n.ladder.scale(lead))
	if err != nil {
		return err
	}
	n.layer.setL(root)
	n.layer.LogPriorStd.Set(0, n.ladder.logStd.Float64s()[lead])
	graph.Unflat(n.lik.Params(), n.ladder.params(lead))
	return nil
}

// naturalSteps fits the layer by natural gradients.
func (f *fitting) naturalSteps(ctx context.Context) (*gp.Fitted, error) {
	n, err := newNatural(ctx, f, (f.r.Limit()+1)/2)
	if err != nil {
		return nil, err
	}
	return n.run().Train(ctx, n, func(ctx context.Context, record gp.Record) (*gp.Fitted, error) {
		if err := n.export(); err != nil {
			return nil, err
		}
		record.Facts = jitterFacts(n.ladder.numbers.Jitter)
		record.Notes = roundingNotes(n.ladder.numbers.Left, n.dt)
		return f.fitted(ctx, record)
	})
}

// run describes the steps. Their validation also moves the ladder.
func (n *natural) run() *steps.Fit {
	run := n.steps().Fit
	if run.Held = nil; n.check != nil {
		run.Loop.Validate = n.validate
	}
	return &run
}
