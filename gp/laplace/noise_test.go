package laplace

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
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
			_, got := predict(t, p.fit(t, o), p.probe)
			_, want := predict(t, p.fit(t, wide), p.probe)
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
		_, got := predict(t, u, p.probe)
		_, want := predict(t, all, p.probe)
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
	spec := likelihood.Spec{Name: "poisson"}
	l, err := spec.Likelihood(2, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	of := gp.Problem{Net: p.net, Likelihood: l, Train: gp.Examples{X: p.x, Y: p.y}}
	f, err := (&Settings{PriorStd: 1e-6}).Fit(t.Context(), of, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	q := f.Posterior.(*posterior)
	mean, _ := predict(t, q, p.x)
	want := -q.evidence.weights[0] / (2e-12)
	for i := range 20 {
		want += l.LogDensity(p.y.Float64s()[2*i:2*i+2], mean[2*i:2*i+2])
	}
	fixture.Close(t, "log marginal likelihood", []float64{q.LogMarginalLikelihood()}, []float64{want}, 1e-12)
	if len(f.Record.Notes) != 1 || f.Record.Notes[0] != "The marginal likelihood is Laplace's approximation with the mean curvature of the likelihood poisson." {
		t.Errorf("notes %q", f.Record.Notes)
	}
}
