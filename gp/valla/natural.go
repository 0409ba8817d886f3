package valla

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Natural fits a layer as [Fit] does, to the same objective, in a thousand steps
// instead of 40,000:
//
//   - A by natural gradients, which are averages of natural parameters,
//     T ← (1−ρ) T + ρ Σ_b Σ_c w_b λ_bc v_bc v_bcᵀ with K̂_z = RRᵀ, v = R⁻¹ k̂,
//     K_z A K_z = σ₀⁴ R T Rᵀ and λ_bc = −2 ∂ℓ_b/∂Q_cc (Khan and Rue 2023; Adam, Chang, Khan
//     and Solin 2021), with ρ = 2/(t+2), which weighs step t by t, down to an average over
//     an epoch or two while Z moves, and less where a step would go too far. Prop. 2 of the
//     paper is the fixed point for Gaussian noise and α = 0; one step over all of the data
//     is there.
//   - σ₀ by comparison: the fit goes on at several σ₀ at once, which share the network's
//     Jacobians, and the best on held-out examples is kept (see ladder).
//   - Z by Adam, as in Fit, and so the likelihood's parameters.
//   - mini-batches drawn with probability by |λ|, since most λ are near 0.
//
// The algebra is in float64 whatever the network holds. The layer starts from its Z and
// σ₀, which need only be right to a factor of some hundred; its L is not used.
type Natural struct {
	Net        layers.Network
	Layer      *Layer
	Likelihood likelihood.Likelihood
	Alpha      *float64 // see Objective

	// FixInducing keeps Z, and then no step takes second derivatives of the network;
	// FixPrior keeps σ₀, FixLikelihood the likelihood's parameters.
	FixInducing, FixPrior, FixLikelihood bool

	BatchSize int    // 0 means 100
	Seed      uint64 // of the mini-batches
	// MemoryLimit is how many bytes a step may need, and the validation beside it half
	// as many; 0 means as many as it takes. Where a mini-batch needs more it is computed
	// in parts.
	MemoryLimit int64

	// ValidationX [n,…] and ValidationY [n,C] are examples held out, by whose mean
	// negative log predictive density σ₀ and the best state are chosen. The layer's σ₀ lies
	// at the lowest point between the best one tried, whose value the result has, and its
	// neighbours. Without examples held out σ₀ minimises the objective, which is known to
	// make it too small.
	ValidationX, ValidationY *tensor.Dense

	// Config is the training loop's; its Validate is the fit's own. Iterations 0 means
	// 1,000, a nil Optimizer Adam with the step 1e-2, a nil Schedule half a cosine to 0,
	// and ValidateEvery 0 a twentieth of the iterations.
	Config train.Config
}

// NaturalResult describes a natural-gradient fit.
type NaturalResult struct {
	*train.Result
	// Jitter is the most that was added to the diagonal of K_z to factor it, as a
	// fraction of its mean: 1e-6 or more in float32.
	Jitter float64
}

// Run minimises the objective over inputs x [N,…] and targets y [N,C] of the network's
// element type. It sets the layer's Z, L and σ₀ and the likelihood's parameters, to those
// of the smallest validation value where there are validation examples. Errors are those
// of [train.Run], and one that wraps [ErrJitter] where K_z cannot be factored.
func (f Natural) Run(ctx context.Context, x, y *tensor.Dense) (*NaturalResult, error) {
	f, err := f.complete()
	if err != nil {
		return nil, err
	}
	n, err := newNatural(ctx, f, x, y)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	if f.ValidationX != nil {
		f.Config.Validate = n.validate
	}
	res, err := train.Run(ctx, n, f.Config)
	if res == nil {
		return nil, err
	}
	if (res.BestIteration == 0 || f.Config.KeepLast) && res.Stopped != train.Failed { // nothing has set the layer yet
		if exportErr := n.exportLead(); exportErr != nil {
			return nil, errors.Join(err, exportErr)
		}
	}
	return &NaturalResult{Result: res, Jitter: n.jitter}, err
}

// complete fills in the defaults.
func (f Natural) complete() (Natural, error) {
	if (f.ValidationX == nil) != (f.ValidationY == nil) {
		return f, errors.New("valla: validation inputs and targets, expected both or neither")
	}
	if f.Config.Validate != nil {
		return f, errors.New("valla: a natural-gradient fit validates by itself; expected Config.Validate nil")
	}
	orInt := func(v *int, standard int) {
		if *v == 0 {
			*v = standard
		}
	}
	orInt(&f.BatchSize, 100)
	orInt(&f.Config.Iterations, 1000)
	orInt(&f.Config.ValidateEvery, max(1, f.Config.Iterations/20))
	if f.Config.Optimizer == nil {
		f.Config.Optimizer = &train.Adam{LR: 1e-2}
	}
	if f.Config.Schedule == nil {
		f.Config.Schedule = train.Cosine(0)
	}
	return f, nil
}

// natural is the train.Objective of a natural-gradient fit.
type natural struct {
	f       Natural
	x       train.Source
	y       *tensor.Dense
	outputs int
	dt      tensor.Dtype

	draws  *draws
	parts  int           // of a mini-batch, of equal size
	xb, yb *tensor.Dense // one of them
	local  *local
	ladder *ladder
	params []train.Param

	program *graph.Program
	grad    *graph.Node // of Z; nil if Z is fixed
	step    stepSums
	check   *validation // nil without validation examples
	jitter  float64
}

// leastJitter is what K_z gets in any case: in float32 its rounding alone makes it
// indefinite.
func leastJitter(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-6
	}
	return 0
}

func newNatural(ctx context.Context, f Natural, x, y *tensor.Dense) (*natural, error) {
	n := &natural{f: f, x: train.Rows{All: x}, y: y, dt: f.Layer.Z.Value.Dtype()}
	if err := n.checkData(x, y); err != nil {
		return nil, err
	}
	n.outputs = y.Shape()[1]
	scores, err := n.scores(ctx, x)
	if err != nil {
		return nil, err
	}
	if n.draws, err = newDraws(scores, f.BatchSize, f.Seed); err != nil {
		return nil, err
	}
	rungs := freeRungs
	if f.FixPrior {
		rungs = 1
	}
	n.ladder = newLadder(f.Layer.Inducing(), rungs, f.Layer.LogPriorStd.Scalar(), flat(f.Likelihood.Params()))
	if err := n.compile(x); err != nil {
		return nil, err
	}
	if f.ValidationX != nil {
		if n.check, err = n.newValidation(); err != nil {
			return nil, err
		}
	}
	n.listParams()
	return n, nil
}

// checkData refuses what would broadcast or be read past its end.
func (n *natural) checkData(x, y *tensor.Dense) error {
	for _, d := range [][2]*tensor.Dense{{x, y}, {n.f.ValidationX, n.f.ValidationY}} {
		x, y := d[0], d[1]
		switch {
		case x == nil:
		case y.Dims() != 2 || x.Dims() < 2 || x.Shape()[0] != y.Shape()[0]:
			return fmt.Errorf("inputs of shape %v with targets of shape %v, expected [N,…] and [N,C]", x.Shape(), y.Shape())
		case x.Dtype() != n.dt || y.Dtype() != n.dt:
			return fmt.Errorf("inputs are %v and targets %v, the layer %v", x.Dtype(), y.Dtype(), n.dt)
		}
	}
	return nil
}

// scores are Σ_c |λ_c| of all examples without latent variance.
func (n *natural) scores(ctx context.Context, x *tensor.Dense) ([]float64, error) {
	all := x.Shape()[0]
	scores := make([]float64, all)
	if n.f.BatchSize >= all {
		return scores, nil
	}
	b := graph.NewBuilder(n.dt)
	xn := b.Input("x", append([]int{PredictBatch}, x.Shape()[1:]...)...)
	mean := n.f.Net.Forward(b, xn)
	if b.Err() != nil {
		return nil, b.Err()
	}
	each, err := graph.NewBatched(b, xn, mean)
	if err != nil {
		return nil, err
	}
	lik, err := newLocal(n.f.Likelihood, alphaOf(n.f.Alpha), PredictBatch, n.outputs, n.dt)
	if err != nil {
		return nil, err
	}
	y, c := graph.Floats(n.y), n.outputs
	variance, weights := make([]float64, PredictBatch*c), make([]float64, PredictBatch)
	for i := range weights {
		weights[i] = 1
	}
	err = each.Each(ctx, x, func(first, rows int, out []*tensor.Dense) error {
		if err := lik.run(y[first*c:(first+rows)*c], appendRows(nil, out[0], rows), variance, weights); err != nil {
			return err
		}
		for i, v := range lik.lambda(rows) {
			scores[first+i/c] += math.Abs(v)
		}
		return nil
	})
	return scores, err
}

// listParams lists what the run trains and keeps.
func (n *natural) listParams() {
	if n.grad != nil {
		z := n.f.Layer.Z
		n.params = append(n.params, train.Param{Name: z.Name, Value: z.Value, Grad: like(z.Value)})
	}
	n.params = append(n.params, n.ladder.arrays(!n.f.FixLikelihood)...)
	for _, p := range append([]*graph.Param{n.f.Layer.L, n.f.Layer.LogPriorStd}, n.f.Likelihood.Params()...) {
		n.params = append(n.params, train.Param{Name: p.Name, Value: p.Value, Grad: like(p.Value), Kept: true})
	}
}

func like(t *tensor.Dense) *tensor.Dense {
	return tensor.New(tensor.Of(t.Dtype()), tensor.WithShape(t.Shape().Clone()...))
}

// Params implements train.Objective.
func (n *natural) Params() []train.Param { return n.params }

// Identity implements train.Identifier.
func (n *natural) Identity() []string {
	id := []string{
		fmt.Sprintf("natural gradients, batches of %d of %d rows, seed %d", n.draws.size, n.draws.n, n.draws.seed),
		n.x.Identity(), "targets: " + train.Rows{All: n.y}.Identity(),
		"network with fingerprint " + layers.Fingerprint(n.f.Net), fmt.Sprintf("alpha %g", alphaOf(n.f.Alpha)),
		fmt.Sprintf("classes %v", n.f.Layer.Class),
	}
	if n.check != nil {
		id = append(id, "validation "+train.Rows{All: n.f.ValidationX}.Identity())
	}
	return id
}
