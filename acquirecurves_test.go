package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/figure"
	"github.com/go-valla/valla/internal/fixture"
)

// race compares ways to choose the rows of a pool that get labels.
type race struct {
	pool, test *data.Set
	train      TrainOptions
	first      int            // labels of random rows at the start
	more       int            // labels of a round
	ways       []gp.Criterion // ways to choose, beside random rows
}

const (
	raceSeeds  = 5
	raceRounds = 8
)

// TestAcquireCurves prints the table of real data in docs/acquire.md, with VALLA_LONG: how many labels are needed for the mean score
// of random rows after three quarters of the rounds. With -update the test draws the picture of the page.
func TestAcquireCurves(t *testing.T) {
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("VALLA_LONG is not set")
	}
	folder := fixture.Shared(t, "data")
	var charts []figure.Chart
	for _, name := range []string{"concrete", "energy", "kin8nm", "power", "fmnist"} {
		s, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		curves := map[gp.Criterion][][]float64{}
		var of race
		for seed := range uint64(raceSeeds) {
			of = raceOn(t, s, folder, seed)
			for _, way := range append([]gp.Criterion{"random"}, of.ways...) {
				curves[way] = append(curves[way], of.curve(t, way, seed))
			}
		}
		of.print(t, name, curves)
		charts = append(charts, of.chart(name, curves))
	}
	if *update {
		if err := figure.SavePNG("docs/acquire.png", charts...); err != nil {
			t.Fatal(err)
		}
	}
}

// chart draws the mean scores of the seeds against the labels.
func (r race) chart(name string, curves map[gp.Criterion][][]float64) figure.Chart {
	var all []figure.Series
	for _, way := range append([]gp.Criterion{"random"}, r.ways...) {
		s := figure.Series{Name: string(way)}
		for round := range raceRounds + 1 {
			sum := 0.0
			for _, c := range curves[way] {
				sum += c[round] / float64(len(curves[way]))
			}
			s.X, s.Y = append(s.X, float64(r.first+round*r.more)), append(s.Y, sum)
		}
		all = append(all, s)
	}
	y := "RMSE of test rows"
	if r.train.Classes {
		y = "wrong test images, %"
	}
	return figure.Curves(figure.Axes{Title: name, X: "labels", Y: y}, all)
}

// raceOn is the race on a set, with rows that a seed chooses.
func raceOn(t *testing.T, s sets.Set, folder string, seed uint64) race {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 17))
	if !s.HasImages() {
		of, err := s.Table(folder, seed)
		if err != nil {
			t.Fatal(err)
		}
		order := rng.Perm(of.Train.N())
		order = order[:min(len(order), 2000)]
		return race{
			pool: of.Train.Rows(order), test: of.Test, first: 40, more: 20, ways: []gp.Criterion{gp.ByVariance, gp.ByPosterior},
			train: TrainOptions{Seed: seed, Network: Network{Hidden: []int{50}}, Training: Training{Iterations: 1500, BatchSize: 50}},
		}
	}
	of, err := s.Images(folder)
	if err != nil {
		t.Fatal(err)
	}
	some := func(s *image.Set, n int) *data.Set { return labelledImages(s).Rows(rng.Perm(s.N)[:n]) }
	return race{
		pool: some(of.Train, 5000), test: some(of.Test, 5000), first: 100, more: 50, ways: []gp.Criterion{gp.ByVariance, gp.ByInformation},
		train: TrainOptions{
			Seed: seed, Classes: true, Network: Network{Hidden: []int{100}, Activation: "relu", Dtype: "float32"},
			Training: Training{Iterations: 500, BatchSize: 50, LearningRate: 0.002},
		},
	}
}

// labelledImages are images as a set.
func labelledImages(s *image.Set) *data.Set {
	y := make([]float64, s.N)
	for i, k := range s.Class() {
		y[i] = float64(k)
	}
	x := tensor.New(tensor.WithShape(s.N, s.C, s.H, s.W), tensor.WithBacking(s.Pixels))
	return &data.Set{Targets: []string{"label"}, X: x, Y: tensor.New(tensor.WithShape(s.N, 1), tensor.WithBacking(y))}
}

// curve returns the score at the start and after each round.
func (r race) curve(t *testing.T, way gp.Criterion, seed uint64) (out []float64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 18))
	rows := rng.Perm(r.pool.N())[:r.first]
	for round := 0; ; round++ {
		m, err := Train(t.Context(), r.pool.Rows(rows), r.train)
		if err != nil {
			t.Fatal(err)
		}
		m = fit(t, m, r.pool.Rows(rows), lastLayer())
		if out = append(out, r.score(t, m)); round == raceRounds {
			return out
		}
		rows = append(rows, more(t, m, r.pool, rows, r.more, way, rng)...)
	}
}

// score is the RMSE of the test rows, or the share of wrong classes in percent.
func (r race) score(t *testing.T, m *Model) float64 {
	t.Helper()
	if !r.train.Classes {
		return rootMeanSquare(t, m, r.test)
	}
	wrong, y := 0.0, r.test.Y.Float64s()
	for i, k := range predict(t, m, r.test.X).Best() {
		if float64(k) != y[i] {
			wrong += 100 / float64(len(y))
		}
	}
	return wrong
}

// print logs the labels that each way needs for the target, by seed with the standard error of the mean, and the scores at the end.
func (r race) print(t *testing.T, name string, curves map[gp.Criterion][][]float64) {
	t.Helper()
	target := 0.0
	for _, c := range curves["random"] {
		target += c[raceRounds*3/4] / raceSeeds
	}
	for _, way := range append([]gp.Criterion{"random"}, r.ways...) {
		var needed, last []float64
		never := 0
		for _, c := range curves[way] {
			n := r.needed(c, target)
			if math.IsInf(n, 1) {
				n = float64(r.first + raceRounds*r.more)
				never++
			}
			needed, last = append(needed, n), append(last, c[raceRounds])
		}
		n, nError := meanAndError(needed)
		s, sError := meanAndError(last)
		t.Logf("| %s | %.3g | `%s` | %.0f ± %.0f | %s | %.3g ± %.2g |", name, target, way, n, nError, fmt.Sprint(never), s, sError)
	}
}

// needed returns the number of labels at which a curve first reaches a target, between two rounds on a straight line; infinite if it does not.
func (r race) needed(curve []float64, target float64) float64 {
	for i, v := range curve {
		if v > target {
			continue
		}
		part := 0.0
		if i > 0 {
			part = (target - v) / (curve[i-1] - v)
		}
		return float64(r.first) + (float64(i)-part)*float64(r.more)
	}
	return math.Inf(1)
}
