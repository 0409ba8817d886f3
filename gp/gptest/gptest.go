// Package gptest checks that posteriors and methods keep the promises of package gp.
// [Check] is for a fitted posterior:
//
//	gptest.Check(t, gptest.Case{Posterior: p, X: x, Net: net})
//
// [CheckMethod] checks in the same way what package gp asks of a method: its description,
// its settings, its fits to tiny [Problems], and the states of its posteriors, which
// [Memory] holds as a file would:
//
//	gptest.CheckMethod(t, gptest.MethodCase{Method: laplace.Method})
package gptest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Case is a fitted posterior with the facts that the checks need. Only Posterior and X must be set.
type Case struct {
	Posterior gp.Posterior  // also checked as a gp.JointPosterior where it is one
	X         *tensor.Dense // inputs [N,…] of the posterior's element type, N ≥ 2

	// Net is the network whose outputs are the mean: post-hoc methods do not change it. A
	// posterior that says that it has a mean of its own, see gp.OwnMean, must have another.
	Net layers.Network
	// Prior and PriorVariance are σ₀² and the kernel κ of a prior N(g, σ₀²κ), of which
	// the posterior is at most as wide.
	Prior         gp.Kernel
	PriorVariance float64 // σ₀²

	// Tol is the rounding allowed in covariances, relative to the largest prior
	// variance, or posterior one without Prior: the posterior is a difference of two
	// numbers of the prior's size. 0 means 1e-10 in float64 and 1e-4 in float32.
	Tol float64
}

// property is one promise; check returns what breaks it.
type property struct {
	name  string               // of the subtest
	check func(p *probe) error // returns what breaks the promise
}

var properties = []property{
	{"shapes", (*probe).shapes},
	{"mean is the network's output", (*probe).mean},
	{"probabilities", (*probe).probabilities},
	{"covariance", (*probe).covariance},
	{"at most the prior", (*probe).belowPrior},
	{"marginals of the joint", (*probe).joint},
	{"in batches", (*probe).batches},
	{"repeatable", (*probe).repeatable},
	{"compiled", (*probe).compiled},
	{"variances alone", (*probe).marginals},
	{"wrong inputs", (*probe).wrongInputs},
	{"ended context", (*probe).endedContext},
}

// Check runs a subtest for each promise that c's posterior has to keep.
func Check(t *testing.T, c Case) {
	t.Helper()
	p, err := newProbe(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range properties {
		t.Run(q.name, func(t *testing.T) {
			if err := q.check(p); err != nil {
				t.Error(err)
			}
		})
	}
}

// probe is a case with its predictions at X.
type probe struct {
	Case
	ctx      context.Context // of the test
	engine   *gp.Engine      // of the posterior
	n, c     int             // inputs N and outputs C
	got      gp.Gaussian     // the prediction at X
	mu, cov  []float64       // of got
	probs    []float64       // of got; nil where it has none
	prior    []float64       // [N,C,C], nil if unknown
	rounding float64         // allowed in a covariance
	marginal bool            // the variances alone are asked for
}

func newProbe(ctx context.Context, c Case) (*probe, error) {
	if c.X == nil || c.X.Dims() < 2 || c.X.Shape()[0] < 2 {
		return nil, fmt.Errorf("gptest: the case needs inputs of shape [N,…], N ≥ 2")
	}
	p := &probe{Case: c, ctx: ctx, n: c.X.Shape()[0]}
	var err error
	if p.engine, err = gp.NewEngine(c.Posterior, c.X.Shape()[1:], gp.EngineOptions{}); err != nil {
		return nil, fmt.Errorf("gptest: %w", err)
	}
	if p.got, err = p.engine.PredictAll(ctx, c.X); err != nil {
		return nil, fmt.Errorf("gptest: prediction: %w", err)
	}
	if err := p.shapes(); err != nil {
		return nil, err
	}
	p.mu, p.cov, p.c = p.got.Mean, p.got.Cov, p.got.Outputs()
	if len(p.got.Probs) > 0 {
		p.probs = p.got.Probs
	}
	if p.Prior != nil {
		if p.prior, err = p.priorCovariance(); err != nil {
			return nil, fmt.Errorf("gptest: prior: %w", err)
		}
	}
	p.rounding = p.tolerance() * p.scale()
	return p, nil
}

func (p *probe) tolerance() float64 {
	switch {
	case p.Tol > 0:
		return p.Tol
	case p.X.Dtype() == tensor.Float32:
		return 1e-4
	default:
		return 1e-10
	}
}

// scale is the largest prior variance, or posterior one.
func (p *probe) scale() float64 {
	cov := p.prior
	if cov == nil {
		cov = p.cov
	}
	return largest(cov) // on the diagonal, if it is a covariance
}

func (p *probe) priorCovariance() ([]float64, error) {
	v, err := run(p.X, func(b *graph.Builder, x *graph.Node) *graph.Node {
		return b.Scale(p.Prior.Diag(b, x), p.PriorVariance)
	})
	if err == nil && len(v) != len(p.cov) {
		err = fmt.Errorf("%d covariances, the posterior has %d", len(v), len(p.cov))
	}
	return v, err
}

// predict is the posterior's; a panic is an error here.
func (p *probe) predict(x *tensor.Dense) (gp.Gaussian, error) { return p.predictIn(p.ctx, x) }

func (p *probe) predictIn(ctx context.Context, x *tensor.Dense) (g gp.Gaussian, err error) {
	defer recovered(&err)
	return gp.Predict(ctx, p.Posterior, x)
}

var errPanic = errors.New("panic")

func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: %v", errPanic, r)
	}
}

// run evaluates a formula at x.
func run(x *tensor.Dense, f func(b *graph.Builder, x *graph.Node) *graph.Node) ([]float64, error) {
	b := graph.NewBuilder(x.Dtype())
	out := f(b, b.Param(&graph.Param{Name: "x", Value: x}))
	prog, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		return nil, err
	}
	return graph.Floats(prog.Value(out)), nil
}

func largest(v []float64) float64 {
	top := 0.0
	for _, x := range v {
		top = max(top, math.Abs(x))
	}
	return top
}

// differ returns an error that names the first element of got that is not within tol
// of want's.
func differ(what string, got, want []float64, tol float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d numbers, expected %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tol) {
			return fmt.Errorf("%s: element %d is %.15g, expected %.15g within %.2g", what, i, got[i], want[i], tol)
		}
	}
	return nil
}
