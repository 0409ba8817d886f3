package experiments

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// ensembleTables are the tables of the comparison of ensembles: those of the laws with up to 1,000 rows, without the flights.
func ensembleTables() (all []lawTable) {
	for _, l := range lawTables {
		if l.rows <= 1000 && l.name != "kin8nm" && l.name != "power" && l.name != "airline-nycflights13" {
			all = append(all, l)
		}
	}
	return all
}

// TestEnsembles: four networks with VaLLA on each have a smaller NLL than a deep ensemble of five networks on at least
// seven of ten tables. The test prints the table in docs/training.md. It needs minutes, and runs with VALLA_LONG.
func TestEnsembles(t *testing.T) {
	if !fixture.Long() {
		t.Skipf("skipped without %s", fixture.LongVariable)
	}
	fmt.Println("| table | one network | VaLLA | deep ensemble of 5 | VaLLA on each of 4 | 4 × VaLLA − VaLLA |")
	fmt.Println("|---|--:|--:|--:|--:|--:|")
	better, tables := 0, ensembleTables()
	for _, l := range tables {
		var nll [4][]float64 // of each column
		for seed := range uint64(2) {
			train, test := l.open(t, seed)
			for i, m := range ensembles(t, train, seed) {
				nll[i] = append(nll[i], nlls(t, m, test)...)
			}
		}
		one, v, deep, four := kernel.Mean(nll[0]), kernel.Mean(nll[1]), kernel.Mean(nll[2]), kernel.Mean(nll[3])
		if four < deep {
			better++
		}
		kernel.Sub(nll[3], nll[3], nll[1])
		fmt.Printf("| %v | %.3f | %.3f | %.3f | %.3f | %.3f ± %.3f |\n", l, one, v, deep, four, four-v, kernel.StandardError(nll[3]))
	}
	if better < 7*len(tables)/10 {
		t.Errorf("better than a deep ensemble on %d of %d tables", better, len(tables))
	}
}

// ensembles returns a network alone, VaLLA on it, a deep ensemble of five networks, and VaLLA on each of four networks.
func ensembles(t *testing.T, train *data.Set, seed uint64) (all []*valla.Model) {
	t.Helper()
	for _, n := range []int{1, 5, 4} {
		net, err := valla.Train(t.Context(), train, valla.TrainOptions{
			Network: valla.Network{Hidden: []int{50, 50}}, Training: valla.Training{Iterations: 5000, Networks: n}, Seed: seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		if n != 4 {
			all = append(all, net)
		}
		if n == 5 {
			continue
		}
		m, err := net.Fit(t.Context(), train, valla.FitOptions{Run: gp.Run{Seed: seed}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}
