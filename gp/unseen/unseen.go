package unseen

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

const (
	// mostRows bounds the pseudo-rows, mostNear the rows among which neighbours are sought.
	mostRows, mostNear = 1000, 50_000
	// stream is the random stream of a seed from which rows are drawn.
	stream = 11
	// memorised is a ratio of two errors on the training rows: the error of kernel regression to the error of
	// the network. A network with a larger ratio has memorised its rows. Well-trained networks have ratios from
	// 1 to 1.4. In docs/honest.md the residuals of networks with ratios above 4 are useless.
	memorised = 1.5
)

// Found has the errors of a network, as root mean squares in the network's units; 0 for targets without residuals, see [Problem].
type Found struct {
	Own    float64 // error on the training rows
	Honest float64 // estimate of the error on rows that the network has not seen
}

// Memorised reports whether a network for a regression has memorised its rows: its residuals on the training rows
// say nothing about its residuals on other rows.
func (f Found) Memorised() bool { return f.Honest > memorised*f.Own }

// Problem returns a problem whose validation examples are pseudo-rows. p has none, and its
// network may have been trained on the training rows.
//
// In regression, the noise variance of the likelihood becomes the square of Found.Honest, and is known. The targets
// of the training rows are moved so that the mean square of their residuals is this variance, and a fit learns the
// correct noise. If the network has memorised its rows, the residuals come from kernel regression. Otherwise they
// are the network's own residuals, made larger: the new mean square is the mean of two mean squares, of the
// network, which is too small, and of kernel regression, which is usually too large.
//
// Noise that is not Gaussian has the parameters of maximum likelihood for these residuals. Counts, labels and ordered
// classes have no residuals that another row could take, and the ends of an interval and numbers of known scale have
// none that would leave them what they are: their pseudo-rows have the targets of their rows, as in classification.
//
// Images have pseudo-rows only in classification, and only if their sides have [LeastSide] pixels at least;
// otherwise the error wraps gp.ErrProblem. Problem returns ctx's error if ctx ends first.
func Problem(ctx context.Context, p gp.Problem, seed uint64) (gp.Problem, Found, error) {
	if err := p.Check(); err != nil {
		return p, Found{}, err
	}
	if p.Validation != nil {
		return p, Found{}, fmt.Errorf("%w: validation examples, expected none", gp.ErrProblem)
	}
	classes := likelihood.IsClass(p.Likelihood)
	rng, out := rand.New(rand.NewPCG(seed, stream)), p
	if p.Train.X.Dims() > 2 {
		if !classes || !images(p.Train.X) {
			return p, Found{}, fmt.Errorf("%w: no pseudo-rows for inputs of shape %v, expected vectors, or images of at least %d×%d with classes",
				gp.ErrProblem, p.Train.X.Shape()[1:], LeastSide, LeastSide)
		}
		pseudo := parts(p, rng)
		out.Validation = &pseudo
		return out, Found{}, nil
	}
	s, err := newSample(ctx, p, rng)
	if err != nil {
		return p, Found{}, err
	}
	pseudo := s.pseudo(p)
	out.Validation = &pseudo
	if !likelihood.Noisy(p.Likelihood) || p.Likelihood.Width() > 1 {
		return out, Found{}, nil
	}
	return s.numbers(ctx, out, seed)
}

// Between returns the pseudo-rows of a problem, each with the target of its row.
func Between(ctx context.Context, p gp.Problem, seed uint64) (gp.Examples, error) {
	s, err := newSample(ctx, p, rand.New(rand.NewPCG(seed, stream)))
	if err != nil {
		return gp.Examples{}, err
	}
	return s.pseudo(p), nil
}

// pseudo returns the pseudo-rows, each with the target of its row.
func (s *sample) pseudo(p gp.Problem) gp.Examples {
	return gp.Examples{X: s.between(p), Y: p.Train.Rows(s.rows).Y}
}

// numbers gives the training rows and the pseudo-rows honest targets.
func (s *sample) numbers(ctx context.Context, p gp.Problem, seed uint64) (gp.Problem, Found, error) {
	at, err := outputs(ctx, p, p.Train.X)
	if err != nil {
		return p, Found{}, err
	}
	between, err := outputs(ctx, p, p.Validation.X)
	if err != nil {
		return p, Found{}, err
	}
	residuals, found, err := s.residuals(ctx, p, at, seed)
	if err != nil {
		return p, found, err
	}
	if p.Likelihood, err = honest(p.Likelihood, residuals, found); err != nil {
		return p, found, fmt.Errorf("%w: residuals: %w", gp.ErrProblem, err)
	}
	c := p.Outputs()
	for i, row := range s.rows {
		for k := range c {
			between[i*c+k] += residuals[row*c+k]
		}
	}
	for i := range at {
		at[i] += residuals[i]
	}
	p.Train.Y, p.Validation.Y = like(p.Train.Y, at), like(p.Validation.Y, between)
	p.KnownNoise = true
	return p, found, nil
}

// honest returns a likelihood with noise, with the parameters for residuals [N,C]. The variance of Gaussian noise is the
// square of found.Honest, which is the root of their mean square.
func honest(l likelihood.Likelihood, residuals []float64, found Found) (likelihood.Likelihood, error) {
	if likelihood.IsGaussian(l) {
		return likelihood.WithNoise(l, found.Honest*found.Honest), nil
	}
	return likelihood.Fit(l, residuals, make([]float64, len(residuals)))
}

// residuals returns the residuals [N,C] for the training targets. The network's outputs at the training rows are
// at [N,C].
func (s *sample) residuals(ctx context.Context, p gp.Problem, at []float64, seed uint64) ([]float64, Found, error) {
	own := graph.Floats(p.Train.Y)
	for i := range own {
		own[i] -= at[i]
	}
	smooth, err := s.leftOut(ctx, graph.Floats(p.Train.Y), p.Outputs())
	if err != nil {
		return nil, Found{}, err
	}
	found := Found{Own: rms(own), Honest: rms(smooth)}
	if most := found.Own * attainable(p); found.Honest > most {
		kernel.Scale(smooth, most/found.Honest, smooth)
		found.Honest = most
	}
	if !(found.Honest > 0) {
		return nil, found, fmt.Errorf("%w: all residuals are 0, in kernel regression too", gp.ErrProblem)
	}
	if found.Memorised() {
		return s.spread(smooth, p.Train.N(), p.Outputs(), rand.New(rand.NewPCG(seed, stream+1))), found, nil
	}
	larger := max(found.Own, found.Honest)
	found.Honest = math.Sqrt((found.Own*found.Own + larger*larger) / 2)
	kernel.Scale(own, found.Honest/found.Own, own)
	return own, found, nil
}

// attainable returns a bound of the ratio of two root mean square errors: on new rows, and on the training rows.
// The bound is √((N+P)/(N−P)) for N targets and P weights of a linear model (Akaike 1969). It is infinite unless
// there are more targets than weights.
func attainable(p gp.Problem) float64 {
	n, weights := float64(p.Train.N()), float64(layers.Count(p.Net))/float64(p.Outputs())
	if n <= weights {
		return math.Inf(1)
	}
	return math.Sqrt((n + weights) / (n - weights))
}

// outputs returns the network's outputs [N,C] at x [N,…].
func outputs(ctx context.Context, p gp.Problem, x *tensor.Dense) ([]float64, error) {
	mean, err := gp.Point{Net: p.Net, Dtype: p.Dtype()}.Mean(ctx, x)
	if err != nil {
		return nil, err
	}
	return mean.Float64s(), nil
}

// like returns values in a tensor of the shape and the element type of t.
func like(t *tensor.Dense, values []float64) *tensor.Dense {
	return graph.Convert(dense.Of(slices.Clone(values), t.Shape().Clone()...), t.Dtype())
}

// rms returns the root of the mean square of v.
func rms(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(v)))
}
