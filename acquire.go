package valla

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// AcquireOptions say which rows [Model.Acquire] chooses.
type AcquireOptions struct {
	Rows int          // number of rows to choose, at least 1
	By   gp.Criterion // what makes a row worth a label; "" means [gp.ByVariance]
	// Candidates is the largest number of rows that are compared. Of more rows a random choice of this size is
	// compared. 0 means 4000/C for C outputs, or Rows if that is more.
	Candidates int
	Seed       uint64 // seed of the random choice
}

// mostAcquired is the number of outputs, of all candidates together, that are compared by default.
const mostAcquired = 4000

// Acquire returns the rows of x [N,…] whose labels the model should have next, the best row first; the
// scores are in the units of the network. Each row is the best one given the labels of the rows before it, and near
// duplicates come last, see [gp.Pool.Choose]. For a regression the variances are
// the epistemic part of the predictions, and the noise of a label is the aleatoric part. For a classification the precision of
// a label is the curvature diag(p) − p pᵀ of the loss at the logits. The same matrix turns variances of logits into variances
// of probabilities.
//
// Like [Model.Sample], Acquire needs a posterior that knows the covariance between rows, and memory for two
// matrices of (N·C)² numbers, N being the number of candidates.
func (m *Model) Acquire(ctx context.Context, x *tensor.Dense, o AcquireOptions) (_ []gp.Choice, err error) {
	defer explain("acquire", &err)
	o.By = cmp.Or(o.By, gp.ByVariance)
	if err := o.check(); err != nil {
		return nil, err
	}
	p, err := m.joint()
	if err != nil {
		return nil, err
	}
	o.Candidates = cmp.Or(o.Candidates, max(o.Rows, mostAcquired/m.Task.Size()))
	rows := dense.Indices(x.Shape()[0])
	if len(rows) > o.Candidates {
		rows = holdout.Rand(o.Seed, holdout.Samples).Perm(len(rows))[:o.Candidates]
		slices.Sort(rows)
		x = data.TakeRows(x, rows)
	}
	pool, err := m.pool(ctx, p, x)
	if err != nil {
		return nil, err
	}
	chosen, err := pool.Choose(ctx, o.Rows, o.By)
	for i, c := range chosen {
		chosen[i].Row = rows[c.Row]
	}
	return chosen, err
}

// check returns an error if the options are wrong.
func (o AcquireOptions) check() error {
	switch {
	case o.Rows < 1:
		return settings.Errorf("rows: %d, expected at least one", o.Rows)
	case o.Candidates != 0 && o.Candidates < o.Rows:
		return settings.Errorf("candidates: %d, expected 0 or at least as many as the %d rows to choose", o.Candidates, o.Rows)
	case !slices.Contains(gp.Criteria(), o.By):
		return settings.Errorf("by: %q, expected one of %q", o.By, gp.Criteria())
	}
	return nil
}

// pool returns the joint Gaussian p at x, with the precisions of labels.
func (m *Model) pool(ctx context.Context, p gp.JointPosterior, x *tensor.Dense) (gp.Pool, error) {
	in, err := m.Task.Inputs.Apply(x, m.Dtype())
	if err != nil {
		return gp.Pool{}, err
	}
	n, c := in.Shape()[0], m.Task.Size()
	size := int64(n) * int64(c)
	if err := graph.CheckMemory(fmt.Sprintf("the covariance of %d rows", n), 16*size*size); err != nil {
		return gp.Pool{}, err
	}
	predicted, err := m.predict(ctx, in, PredictOptions{}, nil)
	if err != nil {
		return gp.Pool{}, err
	}
	if predicted.Classes == nil && len(predicted.Epistemic) != n*c {
		return gp.Pool{}, settings.Errorf("a network with %d outputs for %d targets, expected one output for each target", c, len(predicted.Targets))
	}
	_, cov, err := p.Joint(ctx, in)
	if err != nil {
		return gp.Pool{}, err
	}
	pool := gp.Pool{Outputs: c, Cov: cov.Float64s(), Roots: make([]float64, n*c*c)}
	if predicted.Classes != nil {
		curvatures(&pool, predicted.Probs)
		return pool, nil
	}
	epistemic(&pool, predicted)
	return pool, nil
}

// epistemic scales the covariance of latent functions so that its diagonal has the shares of Epistemic in the prediction's
// Latent, for all rows in the unit of their target, and sets the precisions of labels with the noise Aleatoric.
func epistemic(pool *gp.Pool, p *Prediction) {
	size, c := len(p.Epistemic), pool.Outputs
	scale := make([]float64, size)
	for i, v := range p.Epistemic {
		if p.Latent[i] > 0 {
			scale[i] = math.Sqrt(v/p.Latent[i]) * p.RowUnit(i)
		}
	}
	for at := range pool.Cov {
		pool.Cov[at] *= scale[at/size] * scale[at%size]
	}
	for i, v := range p.Epistemic {
		ratio := v / max(p.Aleatoric[i], leastNoise*v)
		if q := pool.Cov[i*size+i]; q > 0 && ratio > 0 { // else the label tells nothing
			pool.Roots[i*c+i%c] = math.Sqrt(ratio / q)
		}
	}
}

// curvatures sets the precisions diag(p) − p pᵀ of labels of classes with the probabilities p [N,C], and the same
// matrices as the maps from logits to probabilities. A root of diag(p) − p pᵀ is diag(√p) − p √pᵀ.
func curvatures(pool *gp.Pool, probs []float64) {
	c := pool.Outputs
	pool.Maps = make([]float64, len(pool.Roots))
	for at := range pool.Roots {
		p, k, l := probs[at/(c*c)*c:], at/c%c, at%c
		pool.Maps[at], pool.Roots[at] = -p[k]*p[l], -p[k]*math.Sqrt(p[l])
		if k == l {
			pool.Maps[at] += p[k]
			pool.Roots[at] += math.Sqrt(p[k])
		}
	}
}

// leastNoise is the smallest variance of noise, as a share of the variance of the function. It keeps covariances
// positive definite.
const leastNoise = 1e-6
