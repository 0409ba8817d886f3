package runner

import (
	"context"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
)

// score sets the scores and curves of a cell.
func score(ctx context.Context, p *problem, m *valla.Model, s spec.Scoring, cell *result.Cell) error {
	if p.classes {
		return scoreClasses(ctx, p, m, s, cell)
	}
	return scoreNumbers(ctx, p, m, cell)
}

// scoreNumbers sets NLL, RMSE, CRPS and CQM in the units of the target, and the coverages. If
// there is one input, it also sets the band along it.
func scoreNumbers(ctx context.Context, p *problem, m *valla.Model, cell *result.Cell) error {
	s, err := m.Evaluate(ctx, p.test, valla.PredictOptions{})
	if err != nil {
		return err
	}
	cell.N, cell.Scores = s.N, map[string]result.Scores{"": numbers(s)}
	cell.Curves.Coverage = s.Coverage
	cell.Facts.NoiseStd = result.Number(noiseStd(m))
	if p.train.X.Shape()[1] == 1 {
		cell.Curves.Band, err = Band(ctx, m, p.train, p.held)
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
