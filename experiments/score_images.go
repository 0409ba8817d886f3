package experiments

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-valla/valla/data/corrupt"
	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/experiments/spec"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train/metric"
	"gorgonia.org/tensor"
)

// probabilities turn latent Gaussians into class probabilities [N,C].
type probabilities func(context.Context, gp.Gaussian) (*tensor.Dense, error)

func probit(_ context.Context, g gp.Gaussian) (*tensor.Dense, error) { return gp.ProbitProbs(g), nil }

// monteCarlo takes the mean over samples, on all processors; the result does not depend on
// how many there are.
func monteCarlo(samples int, seed uint64) probabilities {
	return func(ctx context.Context, g gp.Gaussian) (*tensor.Dense, error) {
		n, c := g.Mean.Shape()[0], g.Mean.Shape()[1]
		out, next, errs := make([]float64, n*c), atomic.Int64{}, make([]error, runtime.GOMAXPROCS(0))
		var workers sync.WaitGroup
		for w := range errs {
			workers.Go(func() {
				for from := next.Add(sampledAtOnce) - sampledAtOnce; int(from) < n && errs[w] == nil; from = next.Add(sampledAtOnce) - sampledAtOnce {
					errs[w] = sampleRows(ctx, out, g, int(from), min(int(from)+sampledAtOnce, n), samples, seed)
				}
			})
		}
		workers.Wait()
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
		return tensor.New(tensor.WithShape(n, c), tensor.WithBacking(out)), nil
	}
}

// sampledAtOnce is how many examples are sampled between two looks at the context.
const sampledAtOnce = 100

// sampleRows writes the probabilities of the examples from … to−1 to their place in out.
func sampleRows(ctx context.Context, out []float64, g gp.Gaussian, from, to, samples int, seed uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c, n := g.Mean.Shape()[1], to-from
	p, err := gp.MonteCarloProbs(gp.Gaussian{
		Mean: tensor.New(tensor.WithShape(n, c), tensor.WithBacking(g.Mean.Float64s()[from*c:to*c])),
		Cov:  tensor.New(tensor.WithShape(n, c, c), tensor.WithBacking(g.Cov.Float64s()[from*c*c:to*c*c])),
	}, samples, seed, from)
	if err != nil {
		return err
	}
	copy(out[from*c:to*c], p.Float64s())
	return nil
}

// Score fills in ACC, NLL, ECE, Brier and OOD-AUC by the probit approximation and, if asked
// for and if there is anything uncertain, by Monte Carlo, and curves by the first.
func (c *classification) Score(ctx context.Context, p *Problem, f *Fitted, s spec.Scoring, cell *result.Cell) error {
	in, err := f.Posterior.Predict(ctx, c.test.X)
	if err != nil {
		return err
	}
	var out *gp.Gaussian
	if c.out != nil {
		g, err := f.Posterior.Predict(ctx, c.out)
		if err != nil {
			return err
		}
		out = &g
	}
	cell.N, cell.Scores = len(c.class), map[string]result.Scores{}
	kinds := map[string]probabilities{"probit": probit}
	if _, certain := f.Posterior.(gp.Point); !certain && s.MonteCarlo > 0 {
		kinds["mc"] = monteCarlo(s.MonteCarlo, cell.Seed)
	}
	for name, probs := range kinds {
		if cell.Scores[name], err = c.scores(ctx, in, out, probs); err != nil {
			return err
		}
	}
	c.pictures(in, out, &cell.Curves)
	if s.Rotations > 0 && c.turn != nil {
		if cell.Curves.Rotations, err = c.rotations(ctx, f.Posterior, s.Rotations); err != nil {
			return err
		}
	}
	if s.Corruptions > 0 && c.corrupt != nil {
		cell.Curves.Corrupted, err = c.corruptions(ctx, f.Posterior, s.Corruptions)
	}
	return err
}

// scores evaluates one kind of probabilities on the test images and, where there are any, on
// those out of distribution.
func (c *classification) scores(ctx context.Context, in gp.Gaussian, out *gp.Gaussian, probs probabilities) (result.Scores, error) {
	p, err := probs(ctx, in)
	if err != nil {
		return nil, err
	}
	m, err := scoreClasses(p, c.class)
	if err != nil {
		return nil, err
	}
	s := result.Scores{"ACC": result.Number(m.ACC), "NLL": result.Number(m.NLL), "ECE": result.Number(m.ECE), "Brier": result.Number(m.Brier)}
	if out == nil {
		return s, nil
	}
	q, err := probs(ctx, *out)
	if err != nil {
		return nil, err
	}
	auc, err := metric.OODAUC(entropies(p), entropies(q))
	s["OOD-AUC"] = result.Number(auc)
	return s, err
}

func scoreClasses(probs *tensor.Dense, class []int) (metric.ClassificationScores, error) {
	var m metric.Classification
	if err := m.Add(probs.Float64s(), class); err != nil {
		return metric.ClassificationScores{}, err
	}
	return m.Result()
}

// entropies are those of each row of probabilities, in nats.
func entropies(probs *tensor.Dense) []float64 {
	n, c := probs.Shape()[0], probs.Shape()[1]
	v, out := probs.Float64s(), make([]float64, n)
	for i := range out {
		out[i] = metric.Entropy(v[i*c : (i+1)*c])
	}
	return out
}

// rotations scores the first n test images turned by 0°, 10° … 180°.
func (c *classification) rotations(ctx context.Context, post gp.Posterior, n int) ([]result.Turned, error) {
	var rows []result.Turned
	for angle := 0.0; angle <= 180; angle += 10 {
		x, err := c.turn(angle, n)
		if err != nil {
			return nil, err
		}
		s, err := c.changed(ctx, post, x)
		if err != nil {
			return nil, err
		}
		rows = append(rows, result.Turned{Degrees: angle, Changed: s})
	}
	return rows, nil
}

// corruptions scores the first n test images under each corruption.
func (c *classification) corruptions(ctx context.Context, post gp.Posterior, n int) ([]result.Corrupt, error) {
	var rows []result.Corrupt
	for _, kind := range corrupt.Names() {
		for level := 1; level <= corrupt.Severities; level++ {
			x, err := c.corrupt(ctx, kind, level, n)
			if err != nil {
				return nil, err
			}
			s, err := c.changed(ctx, post, x)
			if err != nil {
				return nil, err
			}
			rows = append(rows, result.Corrupt{Name: kind, Level: level, Changed: s})
		}
	}
	return rows, nil
}

// changed scores changed versions of the first test images, by the probit approximation.
func (c *classification) changed(ctx context.Context, post gp.Posterior, x *tensor.Dense) (result.Changed, error) {
	g, err := post.Predict(ctx, x)
	if err != nil {
		return result.Changed{}, err
	}
	s, err := scoreClasses(gp.ProbitProbs(g), c.class[:x.Shape()[0]])
	return result.Changed{ACC: result.Number(s.ACC), NLL: result.Number(s.NLL), ECE: result.Number(s.ECE)}, err
}

// pictures fills in the reliability curve and the histograms of entropies.
func (c *classification) pictures(in gp.Gaussian, out *gp.Gaussian, to *result.Curves) {
	p, top := gp.ProbitProbs(in), math.Log(float64(c.outputs))
	to.Reliable = reliability(p.Float64s(), c.class, 15)
	to.Entropy = &result.Entropy{Max: top, In: histogram(entropies(p), top, 40)}
	if out != nil {
		to.Entropy.Out = histogram(entropies(gp.ProbitProbs(*out)), top, 40)
	}
}

// reliability returns mean confidence and accuracy of each bin that has examples.
func reliability(probs []float64, labels []int, bins int) []result.XY {
	conf, right, count := make([]float64, bins), make([]float64, bins), make([]float64, bins)
	c := len(probs) / len(labels)
	for i, label := range labels {
		best, row := 0, probs[i*c:(i+1)*c]
		for k, p := range row {
			if p > row[best] {
				best = k
			}
		}
		b := min(max(int(math.Ceil(row[best]*float64(bins)))-1, 0), bins-1)
		conf[b] += row[best]
		count[b]++
		if best == label {
			right[b]++
		}
	}
	var points []result.XY
	for b := range bins {
		if count[b] > 0 {
			points = append(points, result.XY{X: conf[b] / count[b], Y: right[b] / count[b]})
		}
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
