package runner

import (
	"context"
	"slices"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/passes"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// rowsAtOnce is the number of rows that are predicted between two reports of progress.
const rowsAtOnce = 512

// predictor predicts with a model, and tells how many of the rows are done.
type predictor struct {
	m    *valla.Model   // the model that predicts
	rows passes.Counter // that are predicted
	kept blocks         // of latent
}

// newPredictor returns one for all that is scored; report is nil where nobody listens.
func newPredictor(p *problem, m *valla.Model, s spec.Scoring, report func(train.Progress)) *predictor {
	q := &predictor{m: m, rows: passes.Counter{Total: p.test.N(), Tell: gp.Run{OnProgress: report}.Tell("predicted rows")}}
	if p.other != nil {
		q.rows.Total += p.other.N()
	}
	if p.turn != nil {
		q.rows.Total += turns * min(s.Rotations, p.test.N())
	}
	if p.corrupt != nil {
		q.rows.Total += len(corrupt.Names()) * corrupt.Severities * min(s.Corruptions, p.test.N())
	}
	return q
}

// latent is the model's Latent at x [N,…], of which blocks may be kept.
func (q *predictor) latent(ctx context.Context, x *tensor.Dense) (all gp.Gaussian, err error) {
	n, done := x.Shape()[0], 0
	pass := q.rows.Pass(n)
	for rows := range slices.Chunk(dense.Indices(n), rowsAtOnce) {
		g, err := q.kept.predict(func() (gp.Gaussian, error) { return q.m.Latent(ctx, data.TakeRows(x, rows)) })
		if err != nil {
			return all, err
		}
		all.Append(g)
		done += len(rows)
		pass(done, n)
	}
	return all, nil
}

// evaluate is the model's Evaluate of a set.
func (q *predictor) evaluate(ctx context.Context, set *data.Set) (valla.Scores, error) {
	return q.m.Evaluate(ctx, set, valla.PredictOptions{OnRows: q.rows.Pass(set.N())})
}
