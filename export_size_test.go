package valla

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/moe"
	"github.com/go-valla/valla/gp/sampled"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/sum"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/layers"
)

// TestExportSize: the file of each method has at most a tenth more than the weights and the posterior. Where the posterior has
// the rows of the data alone, a prediction also needs the triangle of a matrix over these rows.
func TestExportSize(t *testing.T) {
	const rows = 150
	for name, s := range map[string]gp.Settings{
		"valla":      &vallagp.Settings{Inducing: rows, Iterations: 1},
		"rows":       &laplace.Settings{Hyper: "fixed", PriorStd: 0.7},
		"last layer": &laplace.Settings{Weights: []string{"last-layer"}, Hyper: "fixed", PriorStd: 0.7},
		"kfac":       &laplace.Settings{Structure: "kfac", Hyper: "fixed", PriorStd: 0.7},
		"diag":       &laplace.Settings{Structure: "diag", Hyper: "fixed", PriorStd: 0.7},
		"lowrank":    &laplace.Settings{Structure: "lowrank", Rank: 3, Hyper: "fixed", PriorStd: 0.7},
		"gp-subset":  &laplace.SubsetSettings{Points: 120, PriorStd: 0.7},
		"ella":       &ella.Settings{Points: 60, Rank: 40, PriorStd: 0.7},
		"sampled":    &sampled.Settings{Samples: 4, PriorStd: 0.7},
		"gapa":       &gapa.Settings{Options: gapa.Options{ScaleSteps: 3}},
		"sum":        &sum.Settings{Settings: vallagp.Settings{Inducing: rows, Iterations: 1}, Options: gapa.Options{ScaleSteps: 3}},
		"fmgp":       &fmgp.Settings{Inducing: rows, Iterations: 1},
		"sfr":        &sfr.Settings{Points: rows, PriorStd: 0.7},
		"moe":        &moe.Settings{Experts: 2, PriorStd: 0.7},
	} {
		t.Run(name, func(t *testing.T) {
			m := fit(t, newTestModel(t, tensor.Float64, 0, 200, 200), wave(rows, 3), FitOptions{Settings: s, Validation: new(0.0)})
			state, err := m.Posterior.Stored.State()
			if err != nil {
				t.Fatal(err)
			}
			numbers := 0
			for _, a := range state.Arrays {
				if numbers += a.Value.Size(); strings.HasSuffix(a.Name, "x") {
					n := a.Value.Shape()[0]
					numbers += n * (n + 1) / 2
				}
			}
			for _, p := range layers.Arrays(m.Net) {
				numbers += p.Value.Size()
			}
			e := checkExported(t, m, ExportOptions{})
			if most := 11 * 8 * numbers / 10; e.Bytes > most || e.Careful {
				t.Errorf("%d bytes, expected at most %d; careful: %t", e.Bytes, most, e.Careful)
			}
		})
	}
}
