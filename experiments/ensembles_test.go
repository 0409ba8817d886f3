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
func ensembleTables() (all []trustTable) {
	for _, l := range lawTables {
		if l.rows <= 1000 && l.name != "kin8nm" && l.name != "power" && l.name != "airline-nycflights13" {
			all = append(all, trustTable{lawTable: l})
		}
	}
	return all
}

// classEnsembles are the tables of classes of the comparison: those of the trust bench with 300 rows and more, without the
// wrong labels.
func classEnsembles() (all []trustTable) {
	for _, l := range trustTables() {
		if l.classes > 0 && l.wrong == 0 && l.rows != 100 {
			all = append(all, l)
		}
	}
	return all
}

// TestEnsembles: four networks with VaLLA on each have a smaller NLL than a deep ensemble of five networks on at least
// seven of ten tables of numbers, and on half of the tables of classes. The test prints the tables in docs/training.md. It
// needs many minutes, and runs with VALLA_LONG.
func TestEnsembles(t *testing.T) {
	if !fixture.Long() {
		t.Skipf("skipped without %s", fixture.LongVariable)
	}
	for _, c := range []struct {
		name   string
		tables []trustTable
		least  int
	}{{"numbers", ensembleTables(), 7}, {"classes", classEnsembles(), 4}} {
		t.Run(c.name, func(t *testing.T) {
			fmt.Println("| table | one network | VaLLA | deep ensemble of 5 | VaLLA on each of 4 | 4 × VaLLA − VaLLA |")
			fmt.Println("|---|--:|--:|--:|--:|--:|")
			better := 0
			for _, l := range c.tables {
				if ensembleLine(t, l) {
					better++
				}
			}
			if better < c.least {
				t.Errorf("better than a deep ensemble on %d of %d tables, expected at least %d", better, len(c.tables), c.least)
			}
		})
	}
}

// ensembleLine prints the line of a table, and reports whether VaLLA on each of four networks is better than a deep ensemble.
func ensembleLine(t *testing.T, l trustTable) bool {
	t.Helper()
	var nll [4][]float64 // of each column
	for seed := range uint64(2) {
		train, test := l.open(t, seed)
		for i, m := range ensembles(t, train, l.classes > 0, seed) {
			nll[i] = append(nll[i], nlls(t, m, test)...)
		}
	}
	one, v, deep, four := kernel.Mean(nll[0]), kernel.Mean(nll[1]), kernel.Mean(nll[2]), kernel.Mean(nll[3])
	kernel.Sub(nll[3], nll[3], nll[1])
	fmt.Printf("| %v | %.3f | %.3f | %.3f | %.3f | %.3f ± %.3f |\n", l, one, v, deep, four, four-v, kernel.StandardError(nll[3]))
	return four < deep
}

// ensembles returns a network alone, VaLLA on it, a deep ensemble of five networks, and VaLLA on each of four networks.
func ensembles(t *testing.T, train *data.Set, classes bool, seed uint64) (all []*valla.Model) {
	t.Helper()
	for _, n := range []int{1, 5, 4} {
		net, err := valla.Train(t.Context(), train, valla.TrainOptions{
			Network: valla.Network{Hidden: []int{50, 50}}, Training: valla.Training{Iterations: 5000, Networks: n}, Seed: seed, Classes: classes,
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
