package valla

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// parts are what a fit says of a table, in units of the targets' standard deviation. All
// but noise are roots of means of squares over the test rows.
type parts struct {
	residual             float64 // of the network
	trained              float64 // on the training rows
	noise                float64 // standard deviation, as fitted
	std                  float64 // predictive
	epistemic, aleatoric float64
	far                  float64 // epistemic, five standard deviations off in every column
}

// partsOn trains a network with the defaults of fewer steps and fits VaLLA with its defaults.
func partsOn(t *testing.T, train, test *data.Set) parts {
	t.Helper()
	m, err := Train(t.Context(), train, TrainOptions{Training: Training{Iterations: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, train, FitOptions{Settings: &vallagp.Settings{Iterations: 500}, Law: "gaussian"})
	p := predict(t, f, test.X)
	far := test.X.Float64s()
	away := make([]float64, len(far))
	for i, v := range far {
		away[i] = v + 5*f.Task.Inputs.Std[i%len(f.Task.Inputs.Std)]
	}
	scale := f.NoiseStds()[0] / math.Sqrt(f.NoiseVariance())
	root := func(v []float64) float64 { return math.Sqrt(kernel.Mean(v)) / scale }
	var squares []float64
	for i, y := range test.Y.Float64s() {
		squares = append(squares, (y-p.Mean[i])*(y-p.Mean[i]))
	}
	return parts{root(squares), math.Sqrt(m.NoiseVariance()), math.Sqrt(f.NoiseVariance()), root(p.Variance), root(p.Epistemic), root(p.Aleatoric),
		root(predict(t, f, denseOf(away, test.X.Shape()...)).Epistemic)}
}

// some returns at most a number of rows of a set, evenly spaced.
func some(set *data.Set, most int) *data.Set { return set.Rows(dense.Spaced(set.N(), most)) }

// TestPartsOnTables fits VaLLA, with α = 1, to five tables: what it calls noise is that of
// the residual, wherever the fit has put it, and the epistemic part grows away from the
// rows. With -v and VALLA_LONG, which takes all rows, it prints the table in docs/uncertainty.md.
func TestPartsOnTables(t *testing.T) {
	const folder = "../shared/data"
	if _, err := os.Stat(filepath.Join(folder, "uci")); err != nil || testing.Short() {
		t.Skip("needs the UCI tables in ", folder)
	}
	names := []string{"concrete", "kin8nm", "boston", "energy", "power"}
	if !fixture.Long() {
		names = names[:2]
	}
	for _, name := range names {
		s, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		of, err := s.Table(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		train, test := of.Train, of.Test
		if !fixture.Long() {
			train, test = some(train, 1000), some(test, 500)
		}
		p := partsOn(t, train, test)
		t.Logf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f |", name, p.trained, p.residual, p.noise, p.std, p.epistemic, p.aleatoric, p.far)
		if d := math.Hypot(p.epistemic, p.aleatoric) - p.std; math.Abs(d) > 1e-9 {
			t.Errorf("%s: the parts are off their sum by %g", name, d)
		}
		// Within a factor of 1.5 of the residuals. The residual on training rows is too small. The
		// residual on other rows is too large: what the network does not know adds to this residual.
		if p.aleatoric < p.trained/1.5 || p.aleatoric > 1.5*p.residual {
			t.Errorf("%s: noise part %g, residual %g in training and %g on other rows", name, p.aleatoric, p.trained, p.residual)
		}
		if math.Abs(math.Log(p.aleatoric/p.residual)) > math.Abs(math.Log(p.noise/p.residual)) {
			t.Errorf("%s: the fitted noise %g is nearer to the residual %g than the noise part %g", name, p.noise, p.residual, p.aleatoric)
		}
		if p.far < 2*p.epistemic {
			t.Errorf("%s: epistemic %g amid the rows and %g far away", name, p.epistemic, p.far)
		}
	}
}
