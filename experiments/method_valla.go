package experiments

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// sparse are the settings that the fits of VaLLA have in common.
type sparse struct {
	Inducing []int   `yaml:"inducing" json:"inducing" min:"1"`
	Alpha    float64 `yaml:"alpha" json:"alpha" min:"0" max:"1"`

	// Where the fit starts.
	Inputs      string  `yaml:"inputs" json:"inputs" choice:"k-means greedy"`
	Hyper       string  `yaml:"hyper" json:"hyper" choice:"given lla"` // of exact LLA's marginal likelihood
	PriorStd    float64 `yaml:"prior-std" json:"prior_std" above:"0"`
	LogVariance float64 `yaml:"log-variance" json:"log_variance"` // log σ², standardised

	Iterations int     `yaml:"iterations" json:"iterations" min:"1"`
	Batch      int     `yaml:"batch" json:"batch" min:"1"`
	Rate       float64 `yaml:"rate" json:"rate" above:"0"` // of Adam
	Every      int     `yaml:"validate-every" json:"validate_every" min:"1"`
}

// each returns a method for each number of inducing points.
func (s sparse) each(with func(sparse) Method) []Method {
	var rows []Method
	for _, n := range s.Inducing {
		row := s
		row.Inducing = []int{n}
		rows = append(rows, with(row))
	}
	return rows
}

func (s *sparse) adjust(inducing []int, iterations int) {
	if inducing != nil {
		s.Inducing = inducing
	}
	if iterations > 0 {
		s.Iterations = iterations
	}
}

// vallaMethod is VaLLA as published. The defaults are the paper's settings: k-means for Z,
// L = I, σ₀ = 1, log σ² = −5, 40,000 steps of Adam at 1e-3 with mini-batches of 100, the
// state of the smallest validation NLL kept.
type vallaMethod struct {
	sparse
	OptimalA bool   `yaml:"optimal-a" json:"optimal_a"` // at the start, for Gaussian noise, instead of the identity
	Fixed    bool   `yaml:"fixed" json:"fixed"`         // keep σ₀ and σ
	Schedule string `yaml:"schedule" json:"schedule" choice:"constant cosine"`
	Validate bool   `yaml:"validate" json:"validate"`         // and keep the best state, where rows are held out
	Patience int    `yaml:"patience" json:"patience" min:"0"` // validations without improvement that end the fit; 0: none do
}

func newVaLLA() *vallaMethod {
	return &vallaMethod{
		sparse: sparse{
			Inducing: []int{100}, Alpha: 1, Inputs: "k-means", Hyper: "given", PriorStd: 1, LogVariance: -5,
			Iterations: 40_000, Batch: 100, Rate: 1e-3, Every: 100,
		},
		Schedule: "constant", Validate: true,
	}
}

func (m *vallaMethod) Rows() []Method {
	return m.each(func(s sparse) Method {
		row := *m
		row.sparse = s
		return &row
	})
}

func (m *vallaMethod) Name() (string, int) {
	return fmt.Sprintf("VaLLA %d", m.Inducing[0]), m.Inducing[0]
}

// checkpointEvery is how many iterations lie between two checkpoints.
const checkpointEvery = 1000

func (m *vallaMethod) Fit(ctx context.Context, p *Problem, j Job) (*Fitted, error) {
	layer, lik, before, err := m.start(ctx, p, j.Seed)
	if err != nil {
		return nil, fmt.Errorf("VaLLA: %w", err)
	}
	if m.OptimalA {
		if _, err := layer.OptimalA(ctx, p.Train.X, noiseOf(lik)); err != nil {
			return nil, fmt.Errorf("VaLLA: %w", err)
		}
	}
	post := j.posterior(p, layer)
	noise := func() float64 { return noiseOf(lik) }
	fit := valla.Fit{
		Net: p.Net, Layer: layer, Likelihood: lik, Alpha: m.Alpha, FixPrior: m.Fixed, FixLikelihood: m.Fixed,
		BatchSize: min(m.Batch, p.Train.N()), Seed: j.Seed, Config: m.config(j, checkpointEvery), MemoryLimit: j.Memory,
	}
	fit.Config.Schedule = schedules[m.Schedule]
	if m.Validate && p.Validation != nil {
		fit.Config.Validate, fit.Config.Patience = p.validation(post, noise), m.Patience
	}
	res, err := fit.Run(ctx, p.Train.X, p.Train.Y)
	if err != nil {
		return nil, err
	}
	post.Refresh()
	f := &Fitted{Posterior: post, Noise: noise(), Facts: facts(res), History: history(res), Before: before, Layer: layer}
	f.Facts.PriorStd = result.Number(layer.PriorStd())
	return f, nil
}

// config is the training loop's, without validation, with so many iterations between two
// checkpoints.
func (s sparse) config(j Job, checkpointEvery int) train.Config {
	c := train.Config{
		Iterations: s.Iterations, Optimizer: &train.Adam{LR: s.Rate}, ValidateEvery: s.Every,
		Progress: j.Meter.W, Label: j.Meter.Label,
	}
	if j.Checkpoint != "" {
		c.Checkpoint, c.CheckpointEvery, c.Resume = j.Checkpoint, checkpointEvery, true
	}
	return c
}

var schedules = map[string]train.Schedule{"constant": train.Constant, "cosine": train.Cosine(0)}

// noiseOf is the noise variance of a likelihood, 0 where it has none.
func noiseOf(l likelihood.Likelihood) float64 {
	if g, ok := l.(likelihood.Gaussian); ok {
		return g.Variance()
	}
	return 0
}

// start makes a layer and a likelihood as they are before the first step, and returns a
// copy of the inducing inputs.
func (s sparse) start(ctx context.Context, p *Problem, seed uint64) (*valla.Layer, likelihood.Likelihood, *tensor.Dense, error) {
	z, class, err := s.inputs(p, seed)
	if err != nil {
		return nil, nil, nil, err
	}
	prior, noise, err := s.hyper(ctx, p)
	if err != nil {
		return nil, nil, nil, err
	}
	before := graph.Convert(z, tensor.Float64)
	layer, err := valla.New(jacobian.NTK{Net: p.Net}, z, class)
	if err != nil {
		return nil, nil, nil, err
	}
	layer.LogPriorStd.Set(0, math.Log(prior))
	return layer, p.Task.Likelihood(noise, p.Dtype), before, nil
}

// inputs are the first inducing inputs, which the caller owns.
func (s sparse) inputs(p *Problem, seed uint64) (z *tensor.Dense, class []int, err error) {
	if s.Inputs == "k-means" {
		z, class, err = p.Task.Inducing(p.Train, s.Inducing[0], newRand(seed, 2))
		if err != nil {
			return nil, nil, err
		}
		return graph.Convert(z, p.Dtype), class, nil
	}
	candidates := someRows(p.Train.X, maxCandidates, newRand(seed, 7))
	class = make([]int, candidates.Shape()[0])
	for i := range class {
		class[i] = i % p.Task.Outputs()
	}
	return valla.Greedy(jacobian.NTK{Net: p.Net}, candidates, class, min(s.Inducing[0], len(class)))
}

// maxCandidates bounds the rows among which the greedy choice is made, and those of which
// k-means takes the centres.
const maxCandidates = 2000

// hyper are σ₀ and σ² before the first step. Where exact LLA needs too much memory the
// given σ₀ stays, and σ² is the network's residual variance.
func (s sparse) hyper(ctx context.Context, p *Problem) (prior, noise float64, err error) {
	if s.Hyper == "given" {
		return s.PriorStd, math.Exp(s.LogVariance), nil
	}
	f, err := fitLaplace(ctx, p, laplace.Options{Likelihood: p.Task.Laplace()})
	if errors.As(err, new(*graph.MemoryError)) {
		return s.PriorStd, p.MAP.Noise, nil
	}
	if err != nil {
		return 0, 0, err
	}
	return float64(f.Facts.PriorStd), f.Noise, nil
}
