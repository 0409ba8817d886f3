package experiments

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/gp/valla"
)

// naturalMethod is VaLLA fitted by natural gradients (see valla.Natural). Its prior std is
// where the search for σ₀ starts, its rate that of the inducing inputs.
type naturalMethod struct {
	sparse
	FixedInputs bool `yaml:"fixed-inputs" json:"fixed_inputs"` // keep them where they start
}

func newNatural() *naturalMethod {
	return &naturalMethod{sparse: sparse{
		Inducing: []int{100}, Alpha: 1, Inputs: "k-means", Hyper: "given", PriorStd: 0.1, LogVariance: -5,
		Iterations: 1000, Batch: 100, Rate: 1e-2, Every: 50,
	}}
}

func (m *naturalMethod) Rows() []Method {
	return m.each(func(s sparse) Method { return &naturalMethod{s, m.FixedInputs} })
}

func (m *naturalMethod) Name() (string, int) {
	return fmt.Sprintf("VaLLA %d natural", m.Inducing[0]), m.Inducing[0]
}

// naturalCheckpoint is how many iterations lie between two checkpoints.
const naturalCheckpoint = 20

func (m *naturalMethod) Fit(ctx context.Context, p *Problem, j Job) (*Fitted, error) {
	layer, lik, before, err := m.start(ctx, p, j.Seed)
	if err != nil {
		return nil, fmt.Errorf("VaLLA: %w", err)
	}
	fit := valla.Natural{
		Net: p.Net, Layer: layer, Likelihood: lik, Alpha: m.Alpha, FixInducing: m.FixedInputs,
		BatchSize: min(m.Batch, p.Train.N()), Seed: j.Seed, MemoryLimit: j.Memory / 2, Config: m.config(j, naturalCheckpoint),
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
