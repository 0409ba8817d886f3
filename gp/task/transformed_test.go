package task

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// logPair is pair with transforms: the units of its targets are those of the transformed targets.
func logPair() *Regression {
	r := pair()
	r.Mean, r.Std = []float64{1, 2}, []float64{0.5, 0.2}
	r.Transforms = []Transform{{Log, 0}, {YeoJohnson, 0.5}}
	return r
}

// TestTransformedPrediction: means, variances and quantiles of several transformed targets are those of their
// distributions, the parts add up, and batches can be appended.
func TestTransformedPrediction(t *testing.T) {
	r, all := logPair(), &Prediction{}
	for _, g := range []gp.Gaussian{gaussian(2, 0, 1, -2, 3), gaussian(2, 0.5, -1)} {
		p, err := predicted(t.Context(), r, g, 0.5, PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all.Append(p)
	}
	if all.N() != 3 || all.Medians() != 0 || !slices.Equal(all.Targets, r.Names) {
		t.Fatalf("%d rows, %d medians, targets %v", all.N(), all.Medians(), all.Targets)
	}
	latent := []float64{1, 4, 5, 8, 1, 4} // diagonals of the covariances
	for i, mean := range all.Mean {
		d, what := all.Distribution(i/2, i%2), fmt.Sprintf("value %d: ", i)
		near(t, what+"mean", mean, d.Mean(), 1e-12)
		near(t, what+"variance", all.Variance[i], d.Variance(), 1e-12)
		near(t, what+"share of the function", all.Latent[i]/all.Variance[i], latent[i]/(latent[i]+0.5), 1e-12)
		near(t, what+"parts", all.Epistemic[i]+all.Aleatoric[i], all.Variance[i], 1e-12)
		near(t, what+"quantile", all.Quantiles(0.8)[i], d.Quantile(0.8), 1e-12)
		near(t, what+"CDF", d.CDF(all.Quantiles(0.8)[i]), 0.8, 1e-12)
	}
	// The first value is lognormal: log y ~ N(1, 0.25·1.5).
	near(t, "lognormal mean", all.Mean[0], math.Exp(1+0.375/2), 1e-14)
	near(t, "lognormal variance", all.Variance[0], math.Exp(2+0.375)*math.Expm1(0.375), 1e-14)
	nlls, err := Task{Outputs: r}.NLLs(all, denseOf([]float64{2, 3, 4, -5, 1, 0}, 3, 2))
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range [][]float64{{2, 3}, {4, -5}, {1, 0}} {
		near(t, "NLL", nlls[i], -all.Distribution(i, 0).LogDensity(y[0])-all.Distribution(i, 1).LogDensity(y[1]), 1e-12)
	}
	scores, err := Task{Outputs: r}.Score(all, denseOf([]float64{2, 3, 4, -5, 1, 0}, 3, 2))
	if crps, ok := scores.Get("CRPS y"); err != nil || !ok || !(crps > 0 && crps < 100) {
		t.Errorf("scores %+v, error %v", scores, err)
	}
}

// TestTransformedConformal: intervals, and bounds with their middle, are those of the scores of T(target).
func TestTransformedConformal(t *testing.T) {
	r := logPair()
	p, err := predicted(t.Context(), r, gaussian(2, 0, 1, -2, 3, 1, 1), 0.5, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	y := []float64{5, 2, 1, 3, 7, 4}
	mean, variance, additive := p.Additive(y)
	p.Conformal = calibrate.Numbers(mean, variance, additive, 2)
	lower, upper, err := p.Interval(0.5)
	low, other := p.Bound(0.25)
	middle, none := p.Bound(0.5)
	if err != nil || other != nil || none != nil {
		t.Fatal(err, other, none)
	}
	for i := range y {
		z, err := p.Conformal.Quantile(i%2, 0.5)
		by, std := r.Transforms[i%2], math.Sqrt(variance[i])
		if err != nil {
			t.Fatal(err)
		}
		near(t, "lower bound", by.Apply(lower[i]), mean[i]-z*std, 1e-12)
		near(t, "upper bound", by.Apply(upper[i]), mean[i]+z*std, 1e-12)
		near(t, "bound", low[i], lower[i], 1e-12)
		near(t, "middle", by.Apply(middle[i]), mean[i], 1e-12)
	}
	if inside, _, err := p.Covered(y, 0.5); err != nil || inside != 4 { // two of three for each target
		t.Errorf("%g targets in their intervals, error %v", inside, err)
	}
}

// TestTransformedExtremes: however far a prediction lies from the targets, its numbers are finite except for a variance,
// and a mean that a tail makes is the median.
func TestTransformedExtremes(t *testing.T) {
	for _, by := range everyTransform {
		r := &Regression{Names: []string{"y"}, NoiseVariance: 1, Transforms: []Transform{by}}
		for _, mu := range []float64{-1e4, -800, -5, 0, 5, 800, 1e4} {
			for _, variance := range []float64{0, 1, 36, 1e4, 1e8} {
				p, err := predicted(t.Context(), r, gp.Gaussian{Mean: []float64{mu}, Cov: []float64{variance}}, 0.01, PredictOptions{})
				if err != nil {
					t.Fatalf("%v at %g, %g: %v", by, mu, variance, err)
				}
				lower, upper, err := p.Interval(0.999)
				what := fmt.Sprintf("%v at %g, %g: mean %g, variance %g in [%g, %g]", by, mu, variance, p.Mean[0], p.Variance[0], lower[0], upper[0])
				if err != nil || !(lower[0] <= p.Mean[0] && p.Mean[0] <= upper[0]) || math.IsInf(lower[0], 0) || math.IsInf(upper[0], 0) || !(p.Variance[0] > 0) {
					t.Error(what)
				}
				if math.IsInf(p.Latent[0], 0) || !(p.Latent[0] >= 0 && p.Epistemic[0] >= 0 && p.Aleatoric[0] >= 0) {
					t.Errorf("%s, parts %g, %g, %g", what, p.Latent[0], p.Epistemic[0], p.Aleatoric[0])
				}
				if p.Medians() == 1 && (p.Mean[0] != p.Quantiles(0.5)[0] || !math.IsInf(p.Variance[0], 1)) {
					t.Errorf("%s is a median", what)
				}
			}
		}
	}
}

// TestTransformedLaw: a law of residuals is a law of T(target), also of draws.
func TestTransformedLaw(t *testing.T) {
	r := logPair()
	g := gaussian(2, 0, 1)
	for _, l := range []law.Law{
		{Family: law.Gaussian, Scale: 0.8}, {Family: law.StudentT, DoF: 8, Scale: 0.5},
		{Family: law.Mixture, Weights: []float64{0.6, 0.4}, Shifts: []float64{-0.2, 0.3}, Scales: []float64{0.3, 0.9}},
	} {
		p := new(Prediction)
		if err := r.fill(t.Context(), g, Observation{NoiseVariance: 0.5, Laws: []law.Law{l, l}}, PredictOptions{}, p); err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			d, z := p.Distribution(0, k), l.Quantile(0.9)
			std := math.Sqrt([]float64{1.5, 4.5}[k]) * r.Std[k]
			near(t, l.Family+" quantile", r.Transforms[k].Apply(d.Quantile(0.9)), []float64{1, 2.2}[k]+std*z, 1e-9)
			if k == 0 && l.Family == law.StudentT {
				if p.Medians() != 1 || p.Mean[0] != d.Quantile(0.5) || !math.IsInf(p.Variance[0], 1) {
					t.Errorf("mean %g, variance %g, %d medians", p.Mean[0], p.Variance[0], p.Medians())
				}
				continue
			}
			near(t, l.Family+" mean", p.Mean[k], d.Mean(), 1e-9)
		}
		rng, below := rand.New(rand.NewPCG(1, 1)), 0
		for range 2000 {
			if p.Scatter(0, 0, rng.NormFloat64(), rng) <= p.Quantiles(0.7)[0] {
				below++
			}
		}
		if math.Abs(float64(below)/2000-0.7) > 0.05 {
			t.Errorf("%s: %d of 2000 draws below the quantile of 0.7", l.Family, below)
		}
	}
}

// TestTransformDomain: open bounds of a censored target are no numbers, and a bound that the transform does not take is
// named.
func TestTransformDomain(t *testing.T) {
	s, err := likelihood.Named("censored")
	if err != nil {
		t.Fatal(err)
	}
	set := func(y ...float64) *data.Set {
		return &data.Set{Targets: []string{"from", "to"}, Y: tensor.New(tensor.WithShape(len(y)/2, 2), tensor.WithBacking(y))}
	}
	good := set(2, 2, 3, likelihood.Open, -likelihood.Open, 5)
	plain, err := ModelledTargets(good, good, s)
	if err != nil {
		t.Fatal(err)
	}
	r, err := plain.Transformed(good, good, Log)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "mean", r.Mean[0], (2*math.Log(2)+math.Log(3)+math.Log(5))/4, 1e-12)
	y, err := r.encode(good.Y, tensor.Float64)
	if err != nil || y.Float64s()[3] != likelihood.Open || y.Float64s()[4] != -likelihood.Open {
		t.Errorf("targets %v, error %v", y, err)
	}
	near(t, "target", y.Float64s()[0]*r.Std[0]+r.Mean[0], math.Log(2), 1e-12)
	for i, v := range r.decode(y).Float64s() {
		near(t, "decoded target", v, good.Y.Float64s()[i], 1e-12)
	}
	_, err = plain.Transformed(set(2, 2, 0, 3), good, Log)
	oneLine(t, err, `row 1 (counting from 0), target "from": expected a number above 0 for the target transform log, found 0`)
	if bad := new(TargetError); !errors.As(err, &bad) || bad.Row != 1 || bad.Column != "from" {
		t.Errorf("error %#v", err)
	}
}
