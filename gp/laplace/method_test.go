package laplace

import (
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// variants are settings that reach every structure, choice of weights and way to find the
// hyper-parameters.
func variants() map[string]func(gp.Problem) gp.Settings {
	out := map[string]func(gp.Problem) gp.Settings{}
	for name, s := range map[string]Settings{
		"defaults":         {},
		"kfac":             {Structure: "kfac", Priors: "per-layer"},
		"diag":             {Structure: "diag", Priors: "per-parameter"},
		"lowrank":          {Structure: "lowrank", Rank: 4, PriorStd: 0.5},
		"last layer, grid": {Weights: []string{"last-layer"}, Hyper: "grid"},
		"last layer, kfac": {Weights: []string{"last-layer"}, Structure: "kfac", Hyper: "fixed", PriorStd: 0.5},
		"ascent on a part": {Subset: 9, AscentSteps: 5, AscentRate: 0.01},
	} {
		out[name] = func(gp.Problem) gp.Settings { c := s; return &c }
	}
	out["first weights and last bias"] = func(p gp.Problem) gp.Settings {
		w := p.Net.Params()
		return &Settings{Weights: []string{w[0].Name, w[len(w)-1].Name}, Hyper: "fixed", PriorStd: 2}
	}
	return out
}

// belowPrior adds the prior to a case, and the batch of a fit.
func belowPrior(p gp.Problem, f *gp.Fitted, c *gptest.Case) {
	q := f.Posterior.(*posterior)
	if stds := q.PriorStds(); !slices.ContainsFunc(stds, func(v float64) bool { return v != stds[0] }) {
		c.Prior = jacobian.NTK{Net: layers.Part{Network: p.Net, Chosen: q.scan.weights}}
		c.PriorVariance = stds[0] * stds[0]
	}
}

func TestMethod(t *testing.T) {
	gptest.CheckMethod(t, gptest.MethodCase{Method: Method, Variants: variants(), Case: belowPrior})
}

func TestSubsetMethod(t *testing.T) {
	few := func(gp.Problem) gp.Settings { return &SubsetSettings{Points: 10} }
	all := func(gp.Problem) gp.Settings { return new(SubsetSettings) }
	gptest.CheckMethod(t, gptest.MethodCase{
		Method: SubsetMethod, Variants: map[string]func(gp.Problem) gp.Settings{"ten": few, "defaults": all}, Case: belowPrior,
	})
}
