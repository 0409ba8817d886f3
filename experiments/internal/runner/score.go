package runner

import (
	"context"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/train"
)

// score sets the scores, the curves and the cost of the predictions of a cell, and reports how many rows it has predicted.
// The predictions of images may be kept in the folder dir.
func score(ctx context.Context, p *problem, m *valla.Model, s spec.Scoring, cell *result.Cell, dir string, report func(train.Progress)) error {
	q, meter := newPredictor(p, m, s, report), result.StartMeter()
	q.kept.dir = dir
	of := scoreNumbers
	if p.classes {
		of = scoreClasses
	}
	err := of(ctx, p, q, s, cell)
	cell.Predict = meter.Cost().Add(q.kept.spent)
	return err
}

// scoreNumbers sets NLL, RMSE, CRPS and CQM in the units of the target, and the coverages. If
// there is one input, it also sets the band along it.
func scoreNumbers(ctx context.Context, p *problem, q *predictor, _ spec.Scoring, cell *result.Cell) error {
	s, err := q.evaluate(ctx, p.test)
	if err != nil {
		return err
	}
	cell.N, cell.Scores = s.N, map[string]result.Scores{"": numbers(s)}
	cell.Curves.Coverage = s.Coverage
	cell.Facts.NoiseStd = result.Number(q.m.NoiseStds()[0])
	if p.train.X.Shape()[1] == 1 {
		cell.Curves.Band, err = Band(ctx, q.m, p.train, p.held)
	}
	return err
}

// numbers returns scores in the form of results.
func numbers(s valla.Scores) result.Scores {
	out := result.Scores{}
	for _, v := range s.List {
		out[v.Name] = result.Number(v.Value)
	}
	return out
}
