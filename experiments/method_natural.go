package experiments

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/train"
)

// naturalMethod is VaLLA fitted by natural gradients (see valla.Natural), from the paper's
// start.
type naturalMethod struct {
	Inducing   []int   `yaml:"inducing" json:"inducing" min:"1"`
	Alpha      float64 `yaml:"alpha" json:"alpha" min:"0" max:"1"`
	Inputs     string  `yaml:"inputs" json:"inputs" choice:"k-means greedy"`
	PriorStd   float64 `yaml:"prior-std" json:"prior_std" above:"0"`
	Fixed      bool    `yaml:"fixed-inputs" json:"fixed_inputs"` // keep the inducing inputs where they start
	Iterations int     `yaml:"iterations" json:"iterations" min:"1"`
	Batch      int     `yaml:"batch" json:"batch" min:"1"`
	Rate       float64 `yaml:"rate" json:"rate" above:"0"` // of Adam on the inducing inputs
	Every      int     `yaml:"validate-every" json:"validate_every" min:"1"`
}

func newNatural() *naturalMethod {
	return &naturalMethod{
		Inducing: []int{100}, Alpha: 1, Inputs: "k-means", PriorStd: 0.1, Iterations: 500, Batch: 100, Rate: 1e-2, Every: 50,
	}
}

func (m *naturalMethod) Rows() []Method {
	var rows []Method
	for _, n := range m.Inducing {
		row := *m
		row.Inducing = []int{n}
		rows = append(rows, &row)
	}
	return rows
}

func (m *naturalMethod) Name() (string, int) {
	return fmt.Sprintf("VaLLA %d natural", m.Inducing[0]), m.Inducing[0]
}

func (m *naturalMethod) adjust(inducing []int, iterations int) {
	if inducing != nil {
		m.Inducing = inducing
	}
	if iterations > 0 {
		m.Iterations = iterations
	}
}

// naturalCheckpoint is how many iterations lie between two checkpoints.
const naturalCheckpoint = 20

func (m *naturalMethod) Fit(ctx context.Context, p *Problem, j Job) (*Fitted, error) {
	first := newVaLLA()
	first.Inducing, first.Inputs, first.PriorStd = m.Inducing, m.Inputs, m.PriorStd
	layer, lik, before, err := first.start(ctx, p, j.Seed)
	if err != nil {
		return nil, fmt.Errorf("VaLLA: %w", err)
	}
	fit := valla.Natural{
		Net: p.Net, Layer: layer, Likelihood: lik, Alpha: m.Alpha, FixInducing: m.Fixed,
		BatchSize: min(m.Batch, p.Train.N()), Seed: j.Seed, MemoryLimit: j.Memory / 2,
		Config: train.Config{
			Iterations: m.Iterations, Optimizer: &train.Adam{LR: m.Rate}, ValidateEvery: m.Every,
			Progress: j.Meter.W, Label: j.Meter.Label,
		},
	}
	if j.Checkpoint != "" {
		fit.Config.Checkpoint, fit.Config.CheckpointEvery, fit.Config.Resume = j.Checkpoint, naturalCheckpoint, true
	}
	if p.Validation != nil {
		fit.ValidationX, fit.ValidationY = p.Validation.X, p.Validation.Y
	}
	res, err := fit.Run(ctx, p.Train.X, p.Train.Y)
	if err != nil {
		return nil, err
	}
	f := &Fitted{
		Posterior: j.posterior(p, layer), Noise: noiseOf(lik), Facts: facts(res.Result), History: history(res.Result), Layer: layer, Before: before,
	}
	f.Facts.PriorStd = result.Number(layer.PriorStd())
	return f, nil
}
