package experiments

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/compare"
	"github.com/go-valla/valla/internal/fixture"
)

// TestRivalsWithoutPosterior prints the table of docs/choose.md with rivals that are no posterior: means over three draws of six
// tables, whose test rows judge in five folds. More than two thirds of the lines must hold 90 %. It needs minutes, and runs with
// VALLA_LONG.
func TestRivalsWithoutPosterior(t *testing.T) {
	if !fixture.Long() {
		t.Skip("trains eight networks on each of eighteen tables: VALLA_LONG=1 runs it")
	}
	fmt.Println("| table | contender | NLL | 95 % hold | width | interval score |")
	fmt.Println("|---|---|--:|--:|--:|--:|")
	lines, off := 0, 0
	for _, l := range lawTables[:6] {
		t.Run(l.String(), func(t *testing.T) {
			names, sums := rivalScores(t, l)
			for _, name := range names {
				s, nll := sums[name], ""
				if !math.IsNaN(s[0]) {
					nll = fmt.Sprintf("%.3f", s[0])
				}
				fmt.Printf("| %v | %s | %s | %.1f %% | %.3g | %.3g |\n", l, name, nll, 100*s[1], s[2], s[3])
				if lines++; s[1] < 0.9 {
					off++
				}
			}
		})
	}
	if 3*off > lines {
		t.Errorf("%d of %d lines hold less than 90 %%", off, lines)
	}
}

// rivalScores returns the labels of the contenders on a table, and the means over three draws of the NLL (NaN without a likelihood),
// the share inside, the width and the interval score of each.
func rivalScores(t *testing.T, l lawTable) (names []string, means map[string][4]float64) {
	t.Helper()
	const draws = 3
	means = map[string][4]float64{}
	add := func(label string, scores ...float64) {
		if !slices.Contains(names, label) {
			names = append(names, label)
		}
		s := means[label]
		for i, v := range scores {
			s[i] += v / draws
		}
		means[label] = s
	}
	for seed := range uint64(draws) {
		train, test := l.open(t, seed)
		net, err := valla.Train(t.Context(), train, valla.TrainOptions{Training: valla.Training{Iterations: 5000}, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		c, err := compare.Run(t.Context(), net, train, compare.Options{
			Methods: []string{"valla", "deep-ensemble", "mean-variance", "quantiles"}, Held: test, Folds: 5, Budget: time.Hour,
		})
		if err != nil || len(c.LeftOut) > 0 || c.Intervals == nil {
			t.Fatalf("left out %+v, error %v", c.LeftOut, err)
		}
		for _, r := range c.Results {
			add(r.Label, r.NLL, *r.Coverage, *r.Width, *r.IntervalScore)
		}
		add(c.Intervals.Label, math.NaN(), c.Intervals.Coverage, c.Intervals.Width, c.Intervals.Score)
		t.Log(c.Advice)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(means[a][3], means[b][3]) })
	return names, means
}
