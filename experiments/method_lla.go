package experiments

import (
	"context"
	"strings"

	"github.com/go-valla/valla/experiments/result"
	"github.com/go-valla/valla/gp/laplace"
)

// lla is the linearised Laplace approximation, with hyper-parameters that maximise its
// marginal likelihood on the training rows, or given ones.
type lla struct {
	Weights   []string `yaml:"weights" json:"weights" choice:"all last-layer"`
	Structure []string `yaml:"structure" json:"structure" choice:"full kfac diagonal"`
	PriorStd  float64  `yaml:"prior-std" json:"prior_std" min:"0"` // 0: chosen
	NoiseStd  float64  `yaml:"noise-std" json:"noise_std" min:"0"` // standardised; 0: chosen
}

func newLLA() *lla { return &lla{Weights: []string{"all"}, Structure: []string{"full"}} }

var (
	llaWeights    = map[string]laplace.Weights{"all": laplace.All, "last-layer": laplace.LastLayer}
	llaStructures = map[string]laplace.Structure{"full": laplace.Full, "kfac": laplace.KFAC, "diagonal": laplace.Diagonal}
)

func (m *lla) Rows() []Method {
	var rows []Method
	for _, w := range m.Weights {
		for _, s := range m.Structure {
			rows = append(rows, &lla{[]string{w}, []string{s}, m.PriorStd, m.NoiseStd})
		}
	}
	return rows
}

// Name is that of the paper's tables: LLA, LLA KFAC, LLA last-layer, ….
func (m *lla) Name() (string, int) {
	name := []string{"LLA"}
	if m.Weights[0] == "last-layer" {
		name = append(name, "last-layer")
	}
	switch m.Structure[0] {
	case "kfac":
		name = append(name, "KFAC")
	case "diagonal":
		name = append(name, "Diag")
	}
	return strings.Join(name, " "), 0
}

func (m *lla) Fit(ctx context.Context, p *Problem, j Job) (*Fitted, error) {
	o := laplace.Options{
		Weights: llaWeights[m.Weights[0]], Structure: llaStructures[m.Structure[0]],
		Likelihood: p.Task.Laplace(), PriorStd: m.PriorStd, NoiseStd: m.NoiseStd, Progress: j.Meter.Pass(),
	}
	return fitLaplace(ctx, p, o)
}

// fitLaplace fits with package laplace.
func fitLaplace(ctx context.Context, p *Problem, o laplace.Options) (*Fitted, error) {
	post, err := laplace.Fit(ctx, p.Net, p.Train.X, p.Train.Y, o)
	if err != nil {
		return nil, err
	}
	return &Fitted{Posterior: post, Noise: post.NoiseStd() * post.NoiseStd(),
		Facts: result.Facts{PriorStd: result.Number(post.PriorStd())}}, nil
}
