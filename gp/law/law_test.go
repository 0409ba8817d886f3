package law_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/law"
	"gonum.org/v1/gonum/integrate/quad"
	"pgregory.net/rapid"
)

// laws are laws of every family, with easy and hard shapes.
func laws() map[string]law.Law {
	out := map[string]law.Law{
		"gaussian":       {Family: law.Gaussian, Scale: 1},
		"narrow":         {Family: law.Gaussian, Scale: 0.01},
		"one part":       {Family: law.Mixture, Weights: []float64{1}, Shifts: []float64{0}, Scales: []float64{0.7}},
		"contaminated":   {Family: law.Mixture, Weights: []float64{0.95, 0.05}, Shifts: []float64{0, 0}, Scales: []float64{0.5, 6}},
		"skewed":         {Family: law.Mixture, Weights: []float64{0.75, 0.25}, Shifts: []float64{-0.5, 1.5}, Scales: []float64{0.4, 1.5}},
		"bimodal":        {Family: law.Mixture, Weights: []float64{0.5, 0.5}, Shifts: []float64{-2, 2}, Scales: []float64{0.3, 0.3}},
		"student-t many": {Family: law.StudentT, Scale: 1.3, DoF: 1e5},
	}
	for _, dof := range []float64{law.MinDoF, 3, 4.5, 10, 99, 101, 1000} {
		out[fmt.Sprint("student-t ", dof)] = law.Law{Family: law.StudentT, Scale: 0.6, DoF: dof}
	}
	out["right-skewed student-t"] = law.Law{Family: law.StudentT, Scale: 0.6, DoF: law.MinDoF, Skew: 0.7}
	out["left-skewed student-t"] = law.Law{Family: law.StudentT, Scale: 1.5, DoF: 4.5, Skew: -1.2}
	return out
}

// integral integrates f over the real line by the rule of Gauss and Legendre in t, z = sinh t, in pieces.
func integral(f func(z float64) float64, kinks ...float64) (sum float64) {
	const pieces, reach = 120, 24.0
	ends := []float64{-reach}
	for i := range pieces {
		ends = append(ends, -reach+2*reach*float64(i+1)/pieces)
	}
	for _, k := range kinks {
		ends = append(ends, math.Asinh(k))
	}
	slices.Sort(ends)
	for i := range len(ends) - 1 {
		sum += quad.Fixed(func(t float64) float64 { return f(math.Sinh(t)) * math.Cosh(t) }, ends[i], ends[i+1], 40, nil, 0)
	}
	return sum
}

// TestIntegrals compares the density, the variance, the two tails and the CRPS with integrals.
func TestIntegrals(t *testing.T) {
	for name, l := range laws() {
		if err := l.Check(); err != nil {
			t.Fatal(name, err)
		}
		join := l.Quantile(1 / (1 + math.Exp(2*l.Skew))) // where the pieces of a skew t meet
		density := func(z float64) float64 { return math.Exp(l.LogDensity(z)) }
		near(t, name+": integral of the density", integral(density, join), 1, 1e-9)
		near(t, name+": mean", integral(func(z float64) float64 { return z * density(z) }, join), 0, 1e-9)
		if l.DoF == 0 || l.DoF > 4 {
			square := integral(func(z float64) float64 { return z * z * density(z) }, join)
			near(t, name+": variance", square/l.Variance(), 1, 1e-9)
		}
		scale := math.Sqrt(l.Variance())
		for _, u := range []float64{-9, -2, -0.5, -1e-3, 0, 0.3, 1, 4} {
			z := u * scale
			crps := integral(func(v float64) float64 {
				if v < z {
					return l.CDF(v) * l.CDF(v)
				}
				return l.Survival(v) * l.Survival(v)
			}, z, join)
			near(t, fmt.Sprintf("%s: CRPS at %g", name, z), l.CRPS(z), crps, 1e-7*max(scale, 1))
			near(t, name+": tails", l.CDF(z)+l.Survival(z), 1, 1e-14)
			below := integral(func(v float64) float64 {
				if v > z {
					return 0
				}
				return density(v)
			}, z, join)
			near(t, fmt.Sprintf("%s: CDF at %g", name, z), l.CDF(z), below, 1e-8*below)
		}
	}
}

// TestQuantile inverts the CDF and the survival function, also far in the tails.
func TestQuantile(t *testing.T) {
	for name, l := range laws() {
		for _, q := range []float64{1e-300, 1e-50, 1e-9, 1e-4, 0.025, 0.25, 0.4999, 0.5} {
			z := l.Quantile(q)
			near(t, fmt.Sprintf("%s: CDF of the quantile at %g", name, q), l.CDF(z)/q, 1, 1e-9)
			if q < 1e-10 || name == "bimodal" && q == 0.5 {
				continue
			}
			p := 1 - q
			near(t, fmt.Sprintf("%s: survival above the quantile at 1−%g", name, q), l.Survival(l.Quantile(p))/(1-p), 1, 1e-9)
		}
		if lo, hi := l.Quantile(0), l.Quantile(1); !math.IsInf(lo, -1) || !math.IsInf(hi, 1) {
			t.Errorf("%s: quantiles %g and %g at 0 and 1", name, lo, hi)
		}
		if v := l.Quantile(math.NaN()) + l.Quantile(-0.1) + l.Quantile(1.1); !math.IsNaN(v) {
			t.Errorf("%s: a quantile outside [0,1] is %g", name, v)
		}
	}
}

// randomLaw draws a law of any family.
func randomLaw(t *rapid.T) law.Law {
	scale := rapid.Float64Range(0.05, 20)
	switch rapid.IntRange(0, 2).Draw(t, "family") {
	case 0:
		return law.Law{Family: law.Gaussian, Scale: scale.Draw(t, "scale")}
	case 1:
		return law.Law{Family: law.StudentT, Scale: scale.Draw(t, "scale"), DoF: rapid.Float64Range(law.MinDoF, 300).Draw(t, "dof")}
	}
	l := law.Law{Family: law.Mixture}
	sum, mean := 0.0, 0.0
	for range rapid.IntRange(1, law.MaxParts).Draw(t, "parts") {
		l.Weights = append(l.Weights, rapid.Float64Range(0.01, 1).Draw(t, "weight"))
		l.Shifts = append(l.Shifts, rapid.Float64Range(-20, 20).Draw(t, "shift"))
		l.Scales = append(l.Scales, scale.Draw(t, "scale"))
		sum += l.Weights[len(l.Weights)-1]
	}
	for k := range l.Weights {
		l.Weights[k] /= sum
		mean += l.Weights[k] * l.Shifts[k]
	}
	for k := range l.Shifts {
		l.Shifts[k] -= mean
	}
	return l
}

// TestProperties: the CDF rises, its slope is the density, the quantile inverts the CDF, and the score of the median
// is the smallest.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := randomLaw(t)
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
		p := rapid.Float64Range(1e-6, 1-1e-6).Draw(t, "p")
		z := l.Quantile(p)
		density := math.Exp(l.LogDensity(z))
		if got := l.CDF(z); math.Abs(got-p) > 1e-12 {
			t.Fatalf("CDF %g at the quantile of %g", got, p)
		}
		step := 1e-4 * math.Sqrt(l.Variance()) / float64(1+len(l.Weights)*len(l.Weights)*10)
		slope := (l.CDF(z+step) - l.CDF(z-step)) / (2 * step)
		if math.Abs(slope-density) > 1e-5*(density+1/math.Sqrt(l.Variance())) {
			t.Fatalf("slope %g of the CDF, density %g", slope, density)
		}
		if l.CRPS(z) < l.CRPS(l.Quantile(0.5))-1e-9 {
			t.Fatalf("the CRPS %g at %g is below the CRPS at the median", l.CRPS(z), z)
		}
	})
}

// TestTwoPieces compares the density of a skewed t with its definition: two halves of a t of different widths, shifted so
// that the mean is 0. The law of −Z has the skewness −κ.
func TestTwoPieces(t *testing.T) {
	const dof, scale, skew = 6.0, 0.7, 0.4
	l := law.Law{Family: law.StudentT, DoF: dof, Scale: scale, Skew: skew}
	mirrored := l
	mirrored.Skew = -skew
	half := 2 * math.Sqrt(dof) * math.Gamma((dof+1)/2) / ((dof - 1) * math.Sqrt(math.Pi) * math.Gamma(dof/2)) // E|T|
	shift := half * (math.Exp(skew) - math.Exp(-skew))
	constant := math.Gamma((dof+1)/2) / (math.Sqrt(dof*math.Pi) * math.Gamma(dof/2))
	for _, z := range []float64{-30, -2, -0.7, -0.1, 0, 0.4, 1, 5, 200} {
		x := z/scale + shift
		y := x * math.Exp(-skew)
		if x < 0 {
			y = x * math.Exp(skew)
		}
		want := 2 / (math.Exp(skew) + math.Exp(-skew)) / scale * constant * math.Pow(1+y*y/dof, -(dof+1)/2)
		near(t, fmt.Sprintf("density at %g over the definition", z), math.Exp(l.LogDensity(z))/want, 1, 1e-12)
		near(t, fmt.Sprintf("log density of −Z at %g", z), mirrored.LogDensity(-z), l.LogDensity(z), 1e-12)
		near(t, fmt.Sprintf("CDF of −Z at %g", z), mirrored.CDF(-z), l.Survival(z), 1e-14)
		near(t, fmt.Sprintf("CRPS of −Z at %g", z), mirrored.CRPS(-z), l.CRPS(z), 1e-11)
	}
	for _, p := range []float64{1e-6, 0.3, 0.5, 0.9} {
		near(t, fmt.Sprintf("quantile %g of −Z", 1-p), mirrored.Quantile(1-p), -l.Quantile(p), 1e-9)
	}
}

// TestTails compares log densities 50 scales out with their formulas.
func TestTails(t *testing.T) {
	l := law.Law{Family: law.Mixture, Weights: []float64{0.5, 0.5}, Shifts: []float64{-1, 1}, Scales: []float64{1, 1}}
	near(t, "mixture", l.LogDensity(50), math.Log(0.5)-0.5*49*49-0.5*math.Log(2*math.Pi), 1e-9)
	l = law.Law{Family: law.Gaussian, Scale: 2}
	near(t, "Gaussian", l.LogDensity(100), -0.5*50*50-0.5*math.Log(8*math.Pi), 1e-9)
	l = law.Law{Family: law.StudentT, Scale: 2, DoF: 3}
	near(t, "Student's t", l.LogDensity(100), math.Log(2/(math.Pi*math.Sqrt(3)*2))-2*math.Log1p(2500.0/3), 1e-12)
	if far := l.LogDensity(1e100); math.IsInf(far, 0) || math.IsNaN(far) {
		t.Errorf("log density %g of a t at 1e100", far)
	}
	mixture := law.Law{Family: law.Mixture, Weights: []float64{0.5, 0.5}, Shifts: []float64{-1, 1}, Scales: []float64{1, 2}}
	if far := mixture.LogDensity(-1e200); !math.IsInf(far, -1) {
		t.Errorf("log density %g of a mixture at -1e200", far)
	}
}

// TestLimits: Student's t with many degrees of freedom, and a mixture with equal parts, are the Gaussian.
func TestLimits(t *testing.T) {
	g := law.Law{Family: law.Gaussian, Scale: 0.7}
	for name, other := range map[string]law.Law{
		"one part":    {Family: law.Mixture, Weights: []float64{1}, Shifts: []float64{0}, Scales: []float64{0.7}},
		"three parts": {Family: law.Mixture, Weights: []float64{0.2, 0.3, 0.5}, Shifts: []float64{0, 0, 0}, Scales: []float64{0.7, 0.7, 0.7}},
		"student-t":   {Family: law.StudentT, DoF: 1e6, Scale: 0.7},
	} {
		tol := 1e-13
		if other.Family == law.StudentT {
			tol = 1e-4 // z⁴/ν
		}
		for _, z := range []float64{-2.5, -0.3, 0, 1, 2} {
			near(t, name+": log density", other.LogDensity(z), g.LogDensity(z), tol)
			near(t, name+": CDF", other.CDF(z), g.CDF(z), tol)
			near(t, name+": CRPS", other.CRPS(z), g.CRPS(z), tol)
		}
		for _, p := range []float64{1e-4, 0.3, 0.5, 0.99} {
			near(t, name+": quantile", other.Quantile(p), g.Quantile(p), tol)
		}
		near(t, name+": variance", other.Variance(), g.Variance(), tol)
	}
}

// TestDraws compares draws with the CDF by the statistic of Kolmogorov and Smirnov, and with the moments.
func TestDraws(t *testing.T) {
	const n = 20_000
	for name, l := range laws() {
		rng := rand.New(rand.NewPCG(7, 7))
		draws, mean, square := make([]float64, n), 0.0, 0.0
		for i := range draws {
			draws[i] = l.Draw(rng)
			mean, square = mean+draws[i]/n, square+draws[i]*draws[i]/n
		}
		slices.Sort(draws)
		worst := 0.0
		for i, z := range draws {
			worst = max(worst, math.Abs(l.CDF(z)-(float64(i)+0.5)/n))
		}
		if worst*math.Sqrt(n) > 1.63 { // exceeded with probability 1 %
			t.Errorf("%s: the distribution of the draws is %g away from the CDF", name, worst)
		}
		if math.Abs(mean) > 4*math.Sqrt(l.Variance()/n) {
			t.Errorf("%s: mean %g of the draws", name, mean)
		}
		if l.DoF == 0 || l.DoF > 8 {
			near(t, name+": variance of the draws", square/l.Variance(), 1, 0.12)
		}
	}
}

// TestAllocations: no method of a prediction allocates.
func TestAllocations(t *testing.T) {
	x := []float64{0.3, math.NaN(), 1e9}
	rng := rand.New(rand.NewPCG(1, 1))
	for name, l := range laws() {
		l.Own = ownScale()
		sum := 0.0
		if n := testing.AllocsPerRun(50, func() {
			sum += l.LogScale(x) + l.LogDensity(0.3) + l.CDF(0.3) + l.Survival(0.3) + l.Quantile(0.9) + l.Variance() + l.CRPS(1) + l.Draw(rng)
		}); n > 0 || math.IsNaN(sum) {
			t.Errorf("%s: %g allocations, sum %g", name, n, sum)
		}
	}
}

// TestRemembering: the remembered variance is the variance, and remembered quantiles are the quantiles, also more of them
// than there is room for, and allocate nothing.
func TestRemembering(t *testing.T) {
	l := law.Law{Family: law.StudentT, DoF: 3, Scale: 0.5}
	r := l.Remembering()
	if r.Variance() != l.Variance() {
		t.Errorf("variance %g, want %g", r.Variance(), l.Variance())
	}
	for range 2 {
		for i := 1; i < 200; i++ {
			if p := float64(i) / 200; r.Quantile(p) != l.Quantile(p) {
				t.Errorf("quantile %g is %g, want %g", p, r.Quantile(p), l.Quantile(p))
			}
		}
	}
	if n := testing.AllocsPerRun(10, func() { r.Quantile(0.975) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
