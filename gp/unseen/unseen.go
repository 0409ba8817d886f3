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
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

const (
	// mostRows bounds the pseudo-rows, mostNear the rows among which neighbours are sought.
	mostRows, mostNear = 1000, 50_000
	// stream is the random stream of a seed from which rows are drawn.
	stream = 11
	// memorised is the ratio of the error of kernel regression to a network's own on its
	// rows above which the network knows them by heart. Well-trained networks have 1 to 1.4,
	// because they are the better regression; on those in docs/honest.md whose ratio is
	// above 4 their own residuals are useless.
	memorised = 1.5
)

// Found says how far a network is off, as root mean squares in its units; 0 with classes.
type Found struct {
	Own    float64 // on the rows that it was trained on
	Honest float64 // on rows that it has not seen, as estimated
}

// ByHeart says whether the network knows numbers by heart: its residuals on its own rows say
// nothing of those on others.
func (f Found) ByHeart() bool { return f.Honest > memorised*f.Own }

// Problem returns a problem whose validation examples are pseudo-rows. p has none, and its
// network may have been trained on the training rows.
//
// With numbers, the noise variance of the likelihood is the square of Found.Honest and
// known, and the targets of the training rows are moved to have residuals of which that is
// the mean square, so that what a fit learns from residuals is right. The residuals are those
// of kernel regression where the network knows its rows by heart. Otherwise they are its
// own, made larger: their mean square becomes the mean of that, which is too small, and of
// kernel regression's, which is usually too large.
//
// Of images there are pseudo-rows for classes only, and for those of [LeastSide] pixels at least;
// otherwise the error wraps gp.ErrProblem. Problem returns ctx's error if ctx ends first.
func Problem(ctx context.Context, p gp.Problem, seed uint64) (gp.Problem, Found, error) {
	if err := p.Check(); err != nil {
		return p, Found{}, err
	}
	if p.Validation != nil {
		return p, Found{}, fmt.Errorf("%w: validation examples, expected none", gp.ErrProblem)
	}
	_, classes := p.Likelihood.(likelihood.Softmax)
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
	if classes {
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
	p.KnownNoise, p.Likelihood = true, likelihood.NewGaussian(found.Honest*found.Honest, tensor.Float64)
	return p, found, nil
}

// residuals returns the residuals that the training targets are to have, [N,C], where the
// network's outputs are at.
func (s *sample) residuals(ctx context.Context, p gp.Problem, at []float64, seed uint64) ([]float64, Found, error) {
	own := graph.Floats(p.Train.Y)
	for i := range own {
		own[i] -= at[i]
	}
	kernel, err := s.leftOut(ctx, graph.Floats(p.Train.Y), p.Outputs())
	if err != nil {
		return nil, Found{}, err
	}
	found := Found{Own: rms(own), Honest: rms(kernel)}
	if most := found.Own * attainable(p); found.Honest > most {
		scaleTo(kernel, most/found.Honest)
		found.Honest = most
	}
	if !(found.Honest > 0) {
		return nil, found, fmt.Errorf("%w: all residuals are 0, that of kernel regression too", gp.ErrProblem)
	}
	if found.ByHeart() {
		return s.spread(kernel, p.Train.N(), p.Outputs(), rand.New(rand.NewPCG(seed, stream+1))), found, nil
	}
	larger := max(found.Own, found.Honest)
	found.Honest = math.Sqrt((found.Own*found.Own + larger*larger) / 2)
	scaleTo(own, found.Honest/found.Own)
	return own, found, nil
}

// attainable bounds the ratio of the root mean square error on new rows to that on the
// training rows, √((N+P)/(N−P)) for N targets and P weights of a linear model (Akaike
// 1969); it is infinite where there are no more targets than weights.
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

func rms(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(v)))
}

func scaleTo(v []float64, by float64) {
	for i := range v {
		v[i] *= by
	}
}
