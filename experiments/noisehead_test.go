package experiments

import (
	"fmt"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
)

// TestNoiseHeads prints the table of docs/training.md with networks that tell the noise of each row, and posteriors on them: means
// over two draws of eight tables. On six at least VaLLA on such a network must be better than the network. It needs minutes, and
// runs with VALLA_LONG.
func TestNoiseHeads(t *testing.T) {
	if !fixture.Long() {
		t.Skip("trains four networks and fits eight posteriors on each of eight tables: VALLA_LONG=1 runs it")
	}
	fmt.Println("| table | one noise | VaLLA | LLA | noise head | VaLLA | LLA |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|")
	better := 0
	for _, l := range append(lawTables[:6:6], lawTables[10], lawTables[14]) {
		var all []float64
		for _, head := range []task.ScaleOf{"", task.LogVariance} {
			means := posteriorsOn(t, l, head)
			all = append(all, means...)
			if head != "" && means[1] < means[0] {
				better++
			}
		}
		fmt.Printf("| %v", l)
		for _, v := range all {
			fmt.Printf(" | %.3f", v)
		}
		fmt.Println(" |")
	}
	if better < 6 {
		t.Errorf("VaLLA is better than the network alone on %d of 8 tables", better)
	}
}

// posteriorsOn returns the mean NLLs of the test rows, over two draws of a table, of a network with or without a noise head, and of
// VaLLA and LLA on it.
func posteriorsOn(t *testing.T, l lawTable, head task.ScaleOf) (means []float64) {
	t.Helper()
	const draws = 2
	means = make([]float64, 3)
	for seed := range uint64(draws) {
		train, test := l.open(t, seed)
		net, err := valla.Train(t.Context(), train, valla.TrainOptions{Training: valla.Training{Iterations: 5000}, Seed: seed, NoiseHead: head})
		if err != nil {
			t.Fatal(err)
		}
		means[0] += kernel.Mean(nlls(t, net, test)) / draws
		for i, s := range []gp.Settings{&vallagp.Settings{}, &laplace.Settings{}} {
			m, err := net.Fit(t.Context(), train, valla.FitOptions{Settings: s})
			if err != nil {
				t.Fatal(err)
			}
			means[i+1] += kernel.Mean(nlls(t, m, test)) / draws
		}
	}
	return means
}
