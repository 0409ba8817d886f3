package laplace

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// student is Student's t with ν = 3 and a scale that fits start from.
func student() likelihood.Likelihood {
	return likelihood.Each(likelihood.NewStudentT(3, 0.7, true, tensor.Float64))
}

// The curvature of Student's t is (ν+1)/(ν+3) times that of Gaussian noise with the variance s². Every structure
// therefore has the covariance with Gaussian noise of the scale s √((ν+3)/(ν+1)).
func TestStudentIsWiderGaussian(t *testing.T) {
	for _, structure := range []structureKind{kindFull, kindKFAC, kindDiagonal, kindLowRank} {
		for name, space := range spaces {
			if structure != kindFull && space != spaceWeights {
				continue
			}
			p, o := newProblem(t, 61, tensor.Float64, 20, 4, 2), options{Structure: structure, PriorStd: 0.8, NoiseStd: 0.3}
			if structure == kindFull {
				o.Space = space
			}
			wide := o
			o.Likelihood, wide.NoiseStd = student(), o.NoiseStd*math.Sqrt(6.0/4)
			_, got := small.Moments(t, p.fit(t, o), p.probe)
			_, want := small.Moments(t, p.fit(t, wide), p.probe)
			fixture.Close(t, fmt.Sprint(structure, ", ", name), got, want, 1e-9)
		}
	}
}

// The hyper-parameters of Student's t maximise the marginal likelihood, of which the gradient is right, and those
// that are given stay.
func TestMaximumOfStudent(t *testing.T) {
	for _, fixed := range []struct{ prior, noise float64 }{{}, {prior: 0.5}, {noise: 0.3}} {
		p := newProblem(t, 62, tensor.Float64, 30, 6, 2).fit(t, options{Likelihood: student(), PriorStd: fixed.prior, NoiseStd: fixed.noise})
		if fixed.prior > 0 && p.PriorStd() != fixed.prior || fixed.noise > 0 && p.NoiseStd() != fixed.noise {
			t.Errorf("%v: hyper-parameters became %v", fixed, p.hyper)
		}
		checkGradient(t, "student-t", at(t, p, 0.4, 0.6))
		prior, noise := p.LogMarginalLikelihoodGradient()
		for _, step := range []float64{-1, -0.01, 0.01, 1} {
			if fixed.prior == 0 {
				checkLower(t, "student-t", p, p.PriorStd()*math.Exp(step), p.NoiseStd(), prior[0])
			}
			if fixed.noise == 0 {
				checkLower(t, "student-t", p, p.PriorStd(), p.NoiseStd()*math.Exp(step), noise)
			}
		}
	}
}

// An update of a stored posterior with Student's t is the fit to all rows at the same hyper-parameters; only a fit
// finds the noise.
func TestStudentUpdated(t *testing.T) {
	p := newProblem(t, 63, tensor.Float64, 20, 4, 2)
	first := problem{net: p.net, x: dense.Rows(p.x, 0, 12), y: dense.Rows(p.y, 0, 12), probe: p.probe}
	q := first.fit(t, options{Likelihood: student()})
	stored, err := restorePosterior(t.Context(), p.net, student(), store(t, q))
	if err != nil {
		t.Fatal(err)
	}
	all := p.fit(t, options{Likelihood: student(), PriorStd: q.PriorStd(), NoiseStd: q.NoiseStd()})
	rest := []int{12, 13, 14, 15, 16, 17, 18, 19}
	more := gp.Problem{Net: p.net, Likelihood: student(), Train: gp.Examples{X: data.TakeRows(p.x, rest), Y: data.TakeRows(p.y, rest)}}
	for name, from := range map[string]*posterior{"fitted": q, "stored": stored} {
		u, err := from.Update(t.Context(), more, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		_, got := small.Moments(t, u, p.probe)
		_, want := small.Moments(t, all, p.probe)
		fixture.Close(t, name, got, want, 1e-9)
		fixture.Close(t, name+": marginal likelihood", []float64{u.(*posterior).LogMarginalLikelihood()}, []float64{all.LogMarginalLikelihood()}, 1e-9)
	}
	_, err = stored.at(t.Context(), 1, 0)
	wants(t, err, "the noise of the likelihood student-t is found by a fit alone")
}

// The marginal likelihood with counts has their log density, and a note says what it is.
func TestMarginalLikelihoodOfCounts(t *testing.T) {
	p := newProblem(t, 64, tensor.Float64, 20, 4, 2)
	for i := range p.y.Float64s() {
		p.y.Float64s()[i] = float64(i % 3)
	}
	l := fromTable(t, "poisson", nil)
	of := gp.Problem{Net: p.net, Likelihood: l, Train: gp.Examples{X: p.x, Y: p.y}}
	f := small.Fit(t, &Settings{PriorStd: 1e-6}, of, gp.Run{})
	q := f.Posterior.(*posterior)
	mean, _ := small.Moments(t, q, p.x)
	want := -q.evidence.weights[0] / (2e-12)
	for i := range 20 {
		want += l.LogDensity(p.y.Float64s()[2*i:2*i+2], mean[2*i:2*i+2])
	}
	fixture.Close(t, "log marginal likelihood", []float64{q.LogMarginalLikelihood()}, []float64{want}, 1e-12)
	if len(f.Record.Notes) != 1 || f.Record.Notes[0] != "The marginal likelihood is Laplace's approximation with the mean curvature of the likelihood poisson." {
		t.Errorf("notes %q", f.Record.Notes)
	}
}

// Rows with the scale 2s are rows with the noise 2s, and counts with the exposure 3 are those of a network whose
// outputs are larger by log 3, in every structure.
func TestCurvatureOfRows(t *testing.T) {
	for _, structure := range []structureKind{kindFull, kindKFAC, kindDiagonal, kindLowRank} {
		p, o := newProblem(t, 65, tensor.Float64, 20, 4, 2), options{Structure: structure, PriorStd: 0.8, NoiseStd: 0.3}
		wide := o
		wide.NoiseStd *= 2
		_, want := small.Moments(t, p.fit(t, wide), p.probe)
		o.Likelihood = fromTable(t, "heteroscedastic", nil)
		p.y = beside(p.y, math.Log(2))
		_, got := small.Moments(t, p.fit(t, o), p.probe)
		fixture.Close(t, fmt.Sprint(structure, ", scales"), got, want, 1e-9)

		counts := make([]float64, 40)
		for i := range counts {
			counts[i] = float64(i % 3)
		}
		y := dense.Of(counts, 20, 2)
		p.y, o = beside(y, 3), options{Structure: structure, PriorStd: 0.8, Likelihood: fromTable(t, "poisson", []byte("true"))}
		_, got = small.Moments(t, p.fit(t, o), p.probe)
		bias := p.net.Params()[3]
		for c := range 2 {
			bias.Set(c, bias.At(c)+math.Log(3))
		}
		p.y, o.Likelihood = y, fromTable(t, "poisson", nil)
		_, want = small.Moments(t, p.fit(t, o), p.probe)
		fixture.Close(t, fmt.Sprint(structure, ", exposures"), got, want, 1e-9)
	}
}

// beside puts a number beside each number of y [N,C].
func beside(y *tensor.Dense, v float64) *tensor.Dense {
	var out []float64
	for _, x := range y.Float64s() {
		out = append(out, x, v)
	}
	return dense.Of(out, y.Shape()[0], 2*y.Shape()[1])
}

// fromTable returns a model of the table without parameters to learn; exposure is nil or JSON.
func fromTable(t *testing.T, model string, exposure json.RawMessage) likelihood.Likelihood {
	t.Helper()
	m, err := likelihood.Lookup(model)
	if err != nil {
		t.Fatal(err)
	}
	s, set := m.New(), map[string]json.RawMessage{}
	if exposure != nil {
		set["exposure"] = exposure
	}
	if err := settings.Assign(s, set); err != nil {
		t.Fatal(err)
	}
	l, err := s.Start(2, nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
