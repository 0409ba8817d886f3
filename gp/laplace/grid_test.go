package laplace

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"
	"gorgonia.org/tensor"
)

// Each point is a fit with these hyper-parameters, scored by a density written
// elsewhere, and the search returns the best point.
func TestGridSearch(t *testing.T) {
	everyMember([]int{2}, func(what string, o options, c int) {
		p, held := problemFor(t, o, 51, tensor.Float64, 20, 4, c), problemFor(t, o, 52, tensor.Float64, 9, 4, c)
		var points []gp.Candidate
		for _, prior := range gp.LogSpaced(0.1, 10, 3) {
			if points = append(points, gp.Candidate{Prior: prior, Noise: 0.5}); noisy(o.Likelihood) {
				points = append(points, gp.Candidate{Prior: prior, Noise: 2})
			}
		}
		best, tried := searchedGrid(t, p.fit(t, o), held, points)
		lowest := math.Inf(1)
		for i, at := range points {
			if o.PriorStd = at.Prior; noisy(o.Likelihood) {
				o.NoiseStd = at.Noise
			}
			want := heldOutNLL(t, p.fit(t, o), held)
			fixture.Close(t, label(what, ", ", at), one(tried[i].nll), one(want), 1e-10)
			lowest = min(lowest, tried[i].nll)
		}
		fixture.Close(t, what+": the best", one(heldOutNLL(t, best, held)), one(lowest), 1e-12)
	})
}

// searchedGrid returns what a grid finds, and every point of the grid.
func searchedGrid(t *testing.T, p *posterior, held problem, points []gp.Candidate) (*posterior, []attempt) {
	t.Helper()
	d := gp.Examples{X: held.x, Y: held.y}
	best, err := p.gridSearch(t.Context(), d, points)
	if err != nil {
		t.Fatal(err)
	}
	tried, err := p.attempts(t.Context(), points, d)
	if err != nil {
		t.Fatal(err)
	}
	return best, tried
}

func heldOutNLL(t *testing.T, p *posterior, held problem) float64 {
	g := small.Predict(t, p, held.x)
	n, c := held.y.Shape()[0], held.y.Shape()[1]
	y, sum := held.y.Float64s(), 0.0
	for i := range n {
		if !p.evidence.noisy() {
			for k, prob := range gp.Probit(nil, g)[i*c : (i+1)*c] {
				sum -= y[i*c+k] * math.Log(prob)
			}
			continue
		}
		cov := mat.NewSymDense(c, append([]float64(nil), g.Cov[i*c*c:(i+1)*c*c]...))
		for k := range c {
			cov.SetSym(k, k, cov.At(k, k)+p.NoiseStd()*p.NoiseStd())
		}
		density, ok := distmv.NewNormal(g.Mean[i*c:(i+1)*c], cov, nil)
		if !ok {
			t.Fatal("no covariance")
		}
		sum -= density.LogProb(y[i*c : (i+1)*c])
	}
	return sum / float64(n)
}

func TestGridSearchDefaults(t *testing.T) {
	p := newProblem(t, 53, tensor.Float64, 20, 4, 1)
	q := p.fit(t, options{Priors: priorsPerLayer, PriorStd: 1, NoiseStd: 0.7})
	points := gridOf(gp.Problem{Likelihood: gaussianNoise}, 0.7)
	best, tried := searchedGrid(t, q, p, points)
	if len(tried) != 21 || tried[0].PriorStd() != 0.01 || tried[20].NoiseStd() != 0.7 || best.PriorStds()[1] != best.PriorStd() {
		t.Errorf("points %v", points)
	}
	_, err := q.gridSearch(t.Context(), gp.Examples{X: p.x, Y: dense.Of(make([]float64, 40), 20, 2)}, points)
	wants(t, err, "y has shape (20, 2), the posterior has 1 outputs")
	_, err = q.gridSearch(t.Context(), gp.Examples{X: p.x, Y: p.probe}, points)
	wants(t, err, "inputs of shape (20, 2) with targets of shape (7, 2)")
	f := newProblem(t, 14, tensor.Float64, 100, 3, 1) // the problem of TestNotPositiveDefinite
	_, err = f.fit(t, options{PriorStd: 1, NoiseStd: 1, Space: spaceFunctions}).gridSearch(t.Context(), gp.Examples{X: f.x, Y: f.y}, []gp.Candidate{{Prior: 1, Noise: 1e-12}})
	wants(t, err, "with any of 1 points")
}
