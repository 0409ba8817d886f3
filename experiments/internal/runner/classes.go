package runner

import (
	"context"
	"math"
	"slices"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/experiments/internal/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train/metric"
)

// scoreClasses sets ACC, NLL, ECE, Brier, OOD-AUC and the curves by the probit approximation,
// or by the probabilities that a posterior has itself. Another posterior also has scores by
// Monte Carlo, if samples are asked for.
func scoreClasses(ctx context.Context, p *problem, q *predictor, s spec.Scoring, cell *result.Cell) error {
	e := evaluation{p: p, m: q.m}
	var err error
	if e.in, err = q.latent(ctx, p.test.X); err != nil {
		return err
	}
	if p.other != nil {
		if e.out, err = q.latent(ctx, p.other.X); err != nil {
			return err
		}
	}
	links := map[string]valla.PredictOptions{"probit": {}}
	if len(e.in.Probs) > 0 {
		links = map[string]valla.PredictOptions{"own": {}}
	} else if q.m.Posterior != nil && s.MonteCarlo > 0 {
		links["mc"] = valla.PredictOptions{Link: valla.MonteCarlo, Samples: s.MonteCarlo, Seed: cell.Seed}
	}
	cell.N, cell.Scores = p.test.N(), map[string]result.Scores{}
	for name, link := range links {
		if cell.Scores[name], err = e.scores(ctx, link); err != nil {
			return err
		}
	}
	if err := e.pictures(ctx, &cell.Curves); err != nil {
		return err
	}
	if s.Rotations > 0 && p.turn != nil {
		if cell.Curves.Rotations, err = rotations(ctx, p, q, s.Rotations); err != nil {
			return err
		}
	}
	if s.Corruptions > 0 && p.corrupt != nil {
		cell.Curves.Corrupted, err = corruptions(ctx, p, q, s.Corruptions)
	}
	return err
}

// evaluation holds the outputs of a model for the test images and for images out of
// distribution.
type evaluation struct {
	p       *problem     // the data set that is scored
	m       *valla.Model // the model that predicts
	in, out gp.Gaussian  // out is empty if there are no such images
}

// probs returns the class probabilities of the test images and of those out of distribution.
// The latter are nil if there are none.
func (e evaluation) probs(ctx context.Context, link valla.PredictOptions) (in, out *valla.Prediction, err error) {
	in = new(valla.Prediction)
	if err = e.m.Fill(ctx, e.in, link, in); err != nil || e.out.Mean == nil {
		return in, nil, err
	}
	out = new(valla.Prediction)
	return in, out, e.m.Fill(ctx, e.out, link, out)
}

// scores returns the scores of one kind of probabilities.
func (e evaluation) scores(ctx context.Context, link valla.PredictOptions) (result.Scores, error) {
	in, out, err := e.probs(ctx, link)
	if err != nil {
		return nil, err
	}
	s, err := e.m.Task.Score(in, e.p.test.Y)
	if err != nil || out == nil {
		return numbers(s), err
	}
	all := numbers(s)
	auc, err := metric.OODAUC(entropies(in), entropies(out))
	all["OOD-AUC"] = result.Number(auc)
	return all, err
}

// entropies returns the entropy of each row of probabilities, in nats.
func entropies(p *valla.Prediction) []float64 {
	var out []float64
	for row := range slices.Chunk(p.Probs, len(p.Classes)) {
		out = append(out, metric.Entropy(row))
	}
	return out
}

// turns is the number of angles that images are turned by.
const turns = 19

// rotations returns the scores on the first n test images turned by 0°, 10° … 180°.
func rotations(ctx context.Context, p *problem, q *predictor, n int) ([]result.Turned, error) {
	var rows []result.Turned
	for i := range turns {
		angle := float64(10 * i)
		set, err := p.turn(angle, n)
		if err != nil {
			return nil, err
		}
		s, err := changed(ctx, q, set)
		if err != nil {
			return nil, err
		}
		rows = append(rows, result.Turned{Degrees: angle, Changed: s})
	}
	return rows, nil
}

// corruptions returns the scores on the first n test images under each corruption.
func corruptions(ctx context.Context, p *problem, q *predictor, n int) ([]result.Corrupt, error) {
	var rows []result.Corrupt
	for _, kind := range corrupt.Names() {
		for level := 1; level <= corrupt.Severities; level++ {
			set, err := p.corrupt(ctx, kind, level, n)
			if err != nil {
				return nil, err
			}
			s, err := changed(ctx, q, set)
			if err != nil {
				return nil, err
			}
			rows = append(rows, result.Corrupt{Name: kind, Level: level, Changed: s})
		}
	}
	return rows, nil
}

// changed returns the scores on changed test images, by the probit approximation.
func changed(ctx context.Context, q *predictor, set *data.Set) (c result.Changed, err error) {
	g, err := q.latent(ctx, set.X)
	if err != nil {
		return c, err
	}
	p := new(valla.Prediction)
	if err := q.m.Fill(ctx, g, valla.PredictOptions{}, p); err != nil {
		return c, err
	}
	s, err := q.m.Task.Score(p, set.Y)
	all := numbers(s)
	return result.Changed{ACC: all["ACC"], NLL: all["NLL"], ECE: all["ECE"]}, err
}

// pictures sets the reliability curve and the histograms of entropies.
func (e evaluation) pictures(ctx context.Context, to *result.Curves) error {
	in, out, err := e.probs(ctx, valla.PredictOptions{})
	if err != nil {
		return err
	}
	top := math.Log(float64(len(in.Classes)))
	to.Reliable = reliability(in, e.p.test.Y.Float64s(), 15)
	to.Entropy = &result.Entropy{Max: top, In: histogram(entropies(in), top, 40)}
	if out != nil {
		to.Entropy.Out = histogram(entropies(out), top, 40)
	}
	return nil
}

// reliability returns the mean confidence and the accuracy of each bin that has examples.
func reliability(p *valla.Prediction, y []float64, bins int) []result.XY {
	var confidence []float64
	var right []bool
	for i, best := range p.Best() {
		confidence, right = append(confidence, p.Probs[i*len(p.Classes)+best]), append(right, p.Classes[best] == y[i])
	}
	var points []result.XY
	for _, b := range metric.Reliability(confidence, right, bins) {
		points = append(points, result.XY{X: b.Confidence, Y: b.Accuracy})
	}
	return points
}

// histogram returns the densities of v in equal bins of [0, top].
func histogram(v []float64, top float64, bins int) []float64 {
	out := make([]float64, bins)
	for _, x := range v {
		out[min(max(int(float64(bins)*x/top), 0), bins-1)] += float64(bins) / (top * float64(len(v)))
	}
	return out
}
