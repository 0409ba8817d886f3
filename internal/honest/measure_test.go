package honest

import (
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// TestLeftOut: for a network without residuals, the formula for the predictive of each row
// without it agrees with posteriors that are fitted without it.
func TestLeftOut(t *testing.T) {
	n, err := Named("waves-over")
	if err != nil {
		t.Fatal(err)
	}
	c := open(t, n)
	p, err := c.problem(t.Context(), Best)
	if err != nil {
		t.Fatal(err)
	}
	const rows, prior, noise = 12, 0.3, 0.7
	e := p.Train.Rows([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
	g, err := gp.Predict(t.Context(), gp.Point{Net: p.Net, Dtype: p.Dtype()}, e.X)
	if err != nil {
		t.Fatal(err)
	}
	e.Y = dense.Of(g.Mean, rows, 1)
	s := &laplace.Settings{PriorStd: prior, NoiseStd: noise}
	of := func(e gp.Examples) gp.Problem { return gp.Problem{Net: p.Net, Likelihood: p.Likelihood, Train: e} }
	whole, err := s.Posterior(t.Context(), of(e), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	with, err := gp.Predict(t.Context(), whole, e.X)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i := range rows {
		var others []int
		for j := range rows {
			if j != i {
				others = append(others, j)
			}
		}
		rest := e.Rows(others)
		q, err := s.Posterior(t.Context(), of(rest), gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		one := e.Rows([]int{i})
		f, err := gp.Predict(t.Context(), q, one.X)
		if err != nil {
			t.Fatal(err)
		}
		want += score(f, likelihood.NewGaussian(noise*noise, tensor.Float64), one).NLL / rows
	}
	if got := leftOutNLL(with, e, noise); math.Abs(got-want) > 1e-6 {
		t.Errorf("NLL %g, of posteriors without the row %g", got, want)
	}
}

// TestWithoutRow: without variance the logits stay the same. With variance they move away from the
// label of the example.
func TestWithoutRow(t *testing.T) {
	f, y := []float64{1, -1}, []float64{1, 0}
	if got := withoutRow(y, f, func(int) float64 { return 0 }); !slices.Equal(got, f) {
		t.Errorf("without variance %v, want %v", got, f)
	}
	got := withoutRow(y, f, func(int) float64 { return 2 })
	if !(got[0] < f[0] && got[1] > f[1]) {
		t.Errorf("%v, want closer together than %v", got, f)
	}
}

// TestScore: mean and standard error.
func TestScore(t *testing.T) {
	e := gp.Examples{X: dense.Of([]float64{0, 0}, 2, 1), Y: dense.Of([]float64{0, 2}, 2, 1)}
	g := gp.Gaussian{Mean: []float64{0, 0}, Cov: []float64{0.5, 0.5}}
	got := score(g, likelihood.NewGaussian(0.5, tensor.Float64), e)
	a := 0.5 * math.Log(2*math.Pi) // of the first; the second has 2²/2 more
	if math.Abs(got.NLL-a-1) > 1e-12 || math.Abs(got.Error-1/math.Sqrt2) > 1e-12 {
		t.Errorf("%+v, want %g ± %g", got, a+1, 1/math.Sqrt2)
	}
}

// TestRows: rows to train on and to judge by are the same each time and have none in common,
// and as many digits have wrong labels as asked for.
func TestRows(t *testing.T) {
	for _, n := range Networks() {
		t.Run(n.Name, func(t *testing.T) {
			shared := n.shared(t)
			train, test, err := n.Rows(shared)
			if err != nil {
				t.Fatal(err)
			}
			again, _, err := n.Rows(shared)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(train.X.Float64s(), again.X.Float64s()) || !slices.Equal(train.Y.Float64s(), again.Y.Float64s()) {
				t.Error("two calls differ")
			}
			if test.N() < 100 || test.N() > mostTest {
				t.Errorf("%d rows to judge by", test.N())
			}
		})
	}
	n, err := Named("digits-wrong")
	if err != nil {
		t.Fatal(err)
	}
	shared := n.shared(t)
	wrong, _, err := n.Rows(shared)
	if err != nil {
		t.Fatal(err)
	}
	right, _, err := digits(wrong.N(), 0)(shared)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for i, v := range graph.Floats(right.Y) {
		if v != wrong.Y.Float64s()[i] {
			differ++
		}
	}
	if share := float64(differ) / float64(wrong.N()); share < 0.12 || share > 0.18 {
		t.Errorf("%g of the labels are wrong, want 0.15", share)
	}
}
