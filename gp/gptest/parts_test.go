package gptest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// TestDiffer: numbers are equal within the tolerance alone, and the first other number is named.
func TestDiffer(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		got, want []float64
		tol       float64
		err       string
	}{
		{[]float64{1, 2}, []float64{1, 2}, 0, ""},
		{nil, nil, 0, ""},
		{[]float64{1, 2}, []float64{1, 2.5}, 0.5, ""},
		{[]float64{1, 2}, []float64{1, 2.5}, 0.4, "v: element 1 is 2, expected 2.5 within 0.4"},
		{[]float64{3, 2}, []float64{1, 2.5}, 0.4, "v: element 0"},
		{[]float64{1}, []float64{1, 2}, 9, "v: 1 numbers, expected 2"},
		{[]float64{nan}, []float64{1}, 9, "v: element 0 is NaN"},
		{[]float64{1}, []float64{nan}, 9, "v: element 0 is 1, expected NaN"},
		{[]float64{nan}, []float64{nan}, 9, "v: element 0"},
	} {
		err := differ("v", c.got, c.want, c.tol)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
			t.Errorf("%v and %v: error %v, expected %q", c.got, c.want, err, c.err)
		}
	}
	if got := largest([]float64{1, -3, 2}); got != 3 || largest(nil) != 0 {
		t.Errorf("largest magnitude %v", got)
	}
}

// TestPSD: a product AAᵀ is a covariance. After a change of a variance, or of a single covariance of
// two equal covariances, the product is no covariance.
func TestPSD(t *testing.T) {
	p := &probe{rounding: 1e-10}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "n")
		a := rapid.SliceOfN(rapid.Float64Range(-2, 2), n*n, n*n).Draw(t, "root")
		v, trace := make([]float64, n*n), 0.0
		for i := range n {
			for j := range n {
				for k := range n {
					v[i*n+j] += a[i*n+k] * a[j*n+k]
				}
			}
			trace += v[i*n+i]
		}
		if err := p.psd("AAᵀ", n, v); err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, n-1).Draw(t, "place")
		negative := slices.Clone(v)
		negative[at*n+at] = -1 - trace
		if p.psd("a negative variance", n, negative) == nil {
			t.Fatalf("%v is taken", negative)
		}
		v[n-1]++
		if err := p.psd("asymmetric", n, v); err == nil || !strings.Contains(err.Error(), "elements (") {
			t.Fatalf("%v: error %v", v, err)
		}
	})
}

// TestRounding: a tolerance that is given counts, and float32 has a larger one.
func TestRounding(t *testing.T) {
	double := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 1))
	single := tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 1))
	for _, c := range []struct {
		p    probe
		want float64
	}{{probe{Case: Case{X: double}}, 1e-10}, {probe{Case: Case{X: single}}, 1e-4}, {probe{Case: Case{X: single, Tol: 1e-7}}, 1e-7}} {
		if got := c.p.tolerance(); got != c.want {
			t.Errorf("tolerance %g, expected %g", got, c.want)
		}
	}
	p := probe{Case: Case{X: double}, mu: []float64{1, -4}, cov: []float64{2, 3}}
	if p.meanRounding() != 0x1p-45 || p.scale() != 3 {
		t.Errorf("rounding %g of means, scale %g", p.meanRounding(), p.scale())
	}
	p.prior = []float64{5}
	if p.X = single; p.meanRounding() != 0x1p-16 || p.scale() != 5 {
		t.Errorf("rounding %g of float32, scale %g with a prior", p.meanRounding(), p.scale())
	}
}

// TestMentions: an error has to be there, to be no panic, and to name whole words.
func TestMentions(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("inputs of width 5, expected 2"), ""},
		{nil, "x: no error"},
		{fmt.Errorf("%w: width", errPanic), "x: panic"},
		{errors.New("widths differ"), "does not name width"},
	} {
		err := mentions("x", c.err, []string{"width"})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, expected %q", c.err, err, c.want)
		}
	}
	if err := func() (err error) { defer recovered(&err); panic("at the disco") }(); !errors.Is(err, errPanic) || !strings.Contains(err.Error(), "at the disco") {
		t.Errorf("a panic gives %v", err)
	}
}

// TestStutters: the same place twice in a row is found, and twice with another between is none.
func TestStutters(t *testing.T) {
	for text, want := range map[string]bool{"": false, "a: b: c": false, "a: a: c": true, "a: b: b": true, "a: b: a": false, "a a: b": false} {
		if stutters(errors.New(text)) != want {
			t.Errorf("%q stutters: %t", text, !want)
		}
	}
}

// TestCountdown: the context ends when it is asked once too often, by either method.
func TestCountdown(t *testing.T) {
	for left := range 4 {
		c := &countdown{left: left}
		c.Context, c.cancel = context.WithCancel(t.Context())
		for i := range left {
			if i%2 == 0 && c.Err() != nil {
				t.Errorf("ended at question %d of %d", i, left)
			}
			if i%2 == 1 {
				select {
				case <-c.Done():
					t.Errorf("ended at question %d of %d", i, left)
				default:
				}
			}
		}
		if !errors.Is(c.Err(), context.Canceled) {
			t.Errorf("not ended after %d questions", left)
		}
	}
}

// TestScatter: noise has the standard deviation of the problems, and classes come as often as the
// softmax of the latent values says.
func TestScatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 20_000
	squares := 0.0
	for range n {
		y := scatter(likelihood.NewGaussian(noiseStd*noiseStd, tensor.Float64), []float64{1}, rng)
		squares += (y[0] - 1) * (y[0] - 1) / n
	}
	if got := math.Sqrt(squares); math.Abs(got-noiseStd) > 0.01 {
		t.Errorf("noise of standard deviation %v, expected %v", got, noiseStd)
	}
	latent, count := []float64{0, 1, -1}, make([]float64, 3)
	for range n {
		y := scatter(likelihood.Softmax{}, slices.Clone(latent), rng)
		sum := 0.0
		for k, v := range y {
			count[k] += v / n
			sum += v
		}
		if sum != 1 || slices.Max(y) != 1 {
			t.Fatalf("target %v", y)
		}
	}
	odds := math.Exp(latent[0]) + math.Exp(latent[1]) + math.Exp(latent[2])
	for k, v := range latent {
		if want := math.Exp(v) / odds; math.Abs(count[k]-want) > 0.015 { // some four standard deviations
			t.Errorf("class %d in %v of the rows, expected %v", k, count[k], want)
		}
	}
}

// TestTargets: a count follows its exposure, a number of known scale its scale, and half of the intervals are
// single numbers.
func TestTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, f = 20_000, 0.7
	draw := func(model, set string, visit func(y []float64)) {
		l, err := started(model, set, 1, noiseStd*noiseStd)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			y := scatter(l, []float64{f}, rng)
			if err := l.Check(y); err != nil {
				t.Fatalf("%s: %v are %v", model, y, err)
			}
			visit(y)
		}
	}
	excess, squares, seen := 0.0, 0.0, 0.0
	draw("poisson", `{"exposure": true}`, func(y []float64) { excess += (y[0] - y[1]*math.Exp(f)) / n })
	draw("heteroscedastic", "", func(y []float64) { squares += math.Pow((y[0]-f)/math.Exp(y[1]), 2) / n })
	draw("censored", "", func(y []float64) {
		if y[0] == y[1] {
			seen += 1.0 / n
		}
	})
	if math.Abs(excess) > 0.05 || math.Abs(math.Sqrt(squares)-noiseStd) > 0.01 || math.Abs(seen-0.5) > 0.02 {
		t.Errorf("counts exceed their means by %g, noise of standard deviation %g, expected %g, and a share of %g is seen", excess, math.Sqrt(squares), noiseStd, seen)
	}
}

// TestStarted: settings that a model does not have, and models that are in no table, are errors.
func TestStarted(t *testing.T) {
	for _, c := range []struct{ model, set string }{{"nobody", ""}, {"student-t", "{"}, {"student-t", `{"colour": 1}`}, {"ordinal", `{"classes": 1}`}, {"ordinal", ""}} {
		if l, err := started(c.model, c.set, 2, 1); err == nil {
			t.Errorf("%s with the settings %q: %v, expected an error", c.model, c.set, l)
		}
	}
}

// TestModelProblems: each other model of the table has a problem in both element types, Poisson has one more, which passes Check.
func TestModelProblems(t *testing.T) {
	all, err := ModelProblems()
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * (len(likelihood.Names()) - 1); len(all) != want {
		t.Errorf("%d problems, expected %d", len(all), want)
	}
	for _, p := range all {
		if err := p.Check(); err != nil || p.Outputs() != 2 || likelihood.Noisy(p.Likelihood) && math.Abs(likelihood.NoiseVariance(p.Likelihood)-noiseStd*noiseStd) > 1e-6 {
			t.Errorf("%s: %d outputs, noise %g, error %v", p.Name, p.Outputs(), likelihood.NoiseVariance(p.Likelihood), err)
		}
	}
}

// TestRefusal: a refusal names the observation model in one line.
func TestRefusal(t *testing.T) {
	p, err := newProblem("MLP", 3, tensor.Float64, "softmax", "")
	if err != nil {
		t.Fatal(err)
	}
	for flaw, ok := range map[string]bool{"refuses by name": true, "refuses without a name": false} {
		c := MethodCase{Method: toyMethod(flaw)}
		_, err := newTrial(t.Context(), c, p, c.variants()["defaults"])
		if wrong := refusal(err, p); !errors.Is(err, gp.ErrProblem) || (wrong == nil) != ok {
			t.Errorf("%s: error %v, found %v", flaw, err, wrong)
		}
	}
}

// TestWrongProblems: each wrong problem is refused by Check, the trial's own is not, and making
// them changes nothing.
func TestWrongProblems(t *testing.T) {
	problems, err := Problems()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		tr := &trial{Problem: p}
		before := tr.numbers()
		for what, wrong := range tr.wrong() {
			if p.Probe.Dtype() == tensor.Float32 && strings.Contains(what, "another type") {
				continue // wrong converts to float32
			}
			if err := wrong.Check(); !errors.Is(err, gp.ErrProblem) {
				t.Errorf("%s, %s: error %v", p.Name, what, err)
			}
		}
		wide := tr.widened()
		c := p.Train.Y.Shape()[1]
		y, in := graph.Floats(wide.Train.Y), graph.Floats(p.Train.Y)
		for i := range trainRows {
			if !slices.Equal(y[i*(c+1):i*(c+1)+c], in[i*c:(i+1)*c]) || y[i*(c+1)+c] != 0 {
				t.Fatalf("%s: row %d of the widened targets is %v", p.Name, i, y[i*(c+1):(i+1)*(c+1)])
			}
		}
		if wide.Validation.Y.Shape()[1] != c+1 || wide.Train.Y.Dtype() != p.Dtype() {
			t.Errorf("%s: widened targets of shape %v", p.Name, wide.Validation.Y.Shape())
		}
		for i, v := range tr.numbers() {
			if !slices.Equal(v, before[i]) {
				t.Errorf("%s: array %d has changed", p.Name, i)
			}
		}
	}
}

// TestNames: names of settings and methods.
func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{
		"lla": {true, true}, "sampled-lla": {true, true}, "valla+gapa": {false, true}, "a1-b2": {true, true}, "1a": {},
		"": {}, "Lla": {}, "a--b": {}, "-a": {}, "a-": {}, "a_b": {}, "a+": {}, "ä": {},
	} {
		if got := [2]bool{kebab.MatchString(name), methodName.MatchString(name)}; got != want {
			t.Errorf("%q as a setting and as a method: %v, expected %v", name, got, want)
		}
	}
}

// TestVariants: a case without variants has the defaults of its method.
func TestVariants(t *testing.T) {
	c := MethodCase{Method: toyMethod("")}
	v := c.variants()
	if len(v) != 1 || v["defaults"] == nil {
		t.Fatalf("variants %v", v)
	}
	if s, ok := v["defaults"](gp.Problem{}).(*toy); !ok || s.Scale != 0 || s.Steps != 0 {
		t.Errorf("settings %+v", s)
	}
	c.Variants = map[string]func(gp.Problem) gp.Settings{"a": nil, "b": nil}
	if len(c.variants()) != 2 {
		t.Errorf("variants %v", c.variants())
	}
}
