package experiments

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// TestCorrected measures what a corrected mean gains on fresh rows, for the tables of numbers of the trust bench, three
// networks and three seeds each, and prints the table in docs/honest.md. It needs many minutes, and runs with VALLA_LONG.
// Each table is a test of its own.
func TestCorrected(t *testing.T) {
	if !fixture.Long() {
		t.Skipf("skipped without %s", fixture.LongVariable)
	}
	fmt.Println("| table | network | taken | RMSE: network | corrected | gain in NLL |\n|---|---|--:|--:|--:|--:|")
	var all []float64
	for _, l := range trustTables() {
		if l.classes > 0 {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			for network := range trustNetworks {
				all = append(all, correctedLine(t, l, network)...)
			}
		})
	}
	fmt.Printf("%d pairs: gain %.4f ± %.4f\n", len(all), kernel.Mean(all), kernel.StandardError(all))
	if kernel.Mean(all) < 0 {
		t.Error("corrected means lose in the mean")
	}
}

// correctedLine returns the gains of three seeds and prints their line.
func correctedLine(t *testing.T, l trustTable, network int) (gains []float64) {
	t.Helper()
	var plain, own float64
	taken, how := 0, trustNetworks[network]
	for seed := range uint64(3) {
		train, test := l.open(t, seed)
		net, err := valla.Train(t.Context(), train, valla.TrainOptions{Network: valla.Network{Hidden: how.hidden}, Training: how.training, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		var m [2]*valla.Model
		var rmse [2]float64
		for i, mean := range []string{valla.MeanNetwork, valla.MeanCorrected} {
			if m[i], err = net.Fit(t.Context(), train, valla.FitOptions{Mean: mean, Run: gp.Run{Seed: seed}}); err != nil {
				t.Fatal(err)
			}
			scores, err := m[i].Evaluate(t.Context(), test, valla.PredictOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range scores.List {
				if s.Name == "RMSE" {
					rmse[i] = s.Value
				}
			}
		}
		gain := 0.0
		if strings.Contains(m[1].String(), "corrected") {
			taken++
			gain, _ = kernel.MeanDifference(nlls(t, m[0], test), nlls(t, m[1], test))
		}
		t.Logf("%v, %s, seed %d: %v, RMSE %.4f %.4f, gain %.4f", l, how.name, seed, m[1], rmse[0], rmse[1], gain)
		gains, plain, own = append(gains, gain), plain+rmse[0]*rmse[0]/3, own+rmse[1]*rmse[1]/3
	}
	if taken > 0 {
		fmt.Printf("| %v | %s | %d | %.4g | %.4g | %.3f |\n", l, how.name, taken, math.Sqrt(plain), math.Sqrt(own), kernel.Mean(gains))
	}
	return gains
}
