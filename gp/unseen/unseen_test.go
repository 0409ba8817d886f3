package unseen_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/unseen"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// noise is the standard deviation of the targets around a line.
const noise = 0.3

// line are n numbers y = x0 − 2 x1 + noise ε with a linear network. Where it is honest its
// outputs are the line, so that its residuals are the noise.
func line(t testing.TB, n int, dt tensor.Dtype) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 1))
	net, err := layers.Build(layers.MLP{Inputs: 2, Outputs: 1, Activation: "tanh"}, dt, rng)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []float64{1, -2} {
		net.Params()[0].Set(i, v)
	}
	net.Params()[1].Set(0, 0)
	x, y := make([]float64, 2*n), make([]float64, n)
	for i := range y {
		x[2*i], x[2*i+1] = rng.NormFloat64(), rng.NormFloat64()
		y[i] = x[2*i] - 2*x[2*i+1] + noise*rng.NormFloat64()
	}
	return gp.Problem{
		Net: net, Likelihood: likelihood.NewGaussian(noise*noise, dt),
		Train: gp.Examples{X: of(x, dt, n, 2), Y: of(y, dt, n, 1)},
	}
}

func of(v []float64, dt tensor.Dtype, shape ...int) *tensor.Dense {
	return graph.Convert(tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), dt)
}

func rms(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x * x
	}
	return math.Sqrt(sum / float64(len(v)))
}

// residuals returns the residuals of p's network at the examples e.
func residuals(t testing.TB, p gp.Problem, e gp.Examples) []float64 {
	t.Helper()
	g := small.Predict(t, gp.Point{Net: p.Net, Dtype: p.Dtype()}, e.X)
	out := graph.Floats(e.Y)
	for i, f := range g.Mean {
		out[i] -= f
	}
	return out
}

// TestHonest: a network whose residuals are the noise keeps them, up to one factor, and the
// pseudo-rows have them too.
func TestHonest(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		p := line(t, 80, dt)
		got, found, err := unseen.Problem(t.Context(), p, 1)
		if err != nil {
			t.Fatal(err)
		}
		own := residuals(t, p, p.Train)
		if found.Memorised() || math.Abs(found.Own-rms(own)) > 1e-6 || found.Honest < found.Own || found.Honest > 1.2*found.Own {
			t.Errorf("%v: found %+v, want about %g twice", dt, found, rms(own))
		}
		moved, pseudo := residuals(t, got, got.Train), residuals(t, got, *got.Validation)
		for i, r := range own {
			if r *= found.Honest / found.Own; math.Abs(moved[i]-r) > 1e-5 || math.Abs(pseudo[i]-r) > 1e-5 {
				t.Fatalf("%v, row %d: residual %g, that of training %g, of the pseudo-row %g", dt, i, r, moved[i], pseudo[i])
			}
		}
	}
}

// TestMemorised: residuals of a network that memorised rows become the residuals of a regression
// that does not know the row: the noise that kernel regression finds.
func TestMemorised(t *testing.T) {
	p := line(t, 201, tensor.Float64)
	memory := overfitted(t, p, 100)
	got, found, err := unseen.Problem(t.Context(), memory, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !got.KnownNoise || found.Own > noise/4 {
		t.Fatalf("found %+v of a network that knows its rows", found)
	}
	if found.Honest < 0.9*noise || found.Honest > 2*noise {
		t.Errorf("honest error %g, want about the noise %g", found.Honest, noise)
	}
	if v := likelihood.NoiseVariance(got.Likelihood); math.Abs(v-found.Honest*found.Honest) > 1e-12 {
		t.Errorf("noise variance %g, want the square of %g", v, found.Honest)
	}
	for name, e := range map[string]gp.Examples{"training": got.Train, "pseudo": *got.Validation} {
		if r := rms(residuals(t, got, e)); math.Abs(r-found.Honest) > 1e-9 {
			t.Errorf("%s rows are off by %g, want %g", name, r, found.Honest)
		}
	}
	if !slices.Equal(graph.Floats(got.Train.X), graph.Floats(memory.Train.X)) {
		t.Error("the training inputs moved")
	}
}

// overfitted adds to the inputs of p one that tells the rows' noise, which the network
// reads: on these rows it is right, whatever the noise. Idle units give the network weights,
// five each, which it might have memorised them with.
func overfitted(t testing.TB, p gp.Problem, idle int) gp.Problem {
	t.Helper()
	n := p.Train.N()
	rng := rand.New(rand.NewPCG(4, 4))
	net, err := layers.Build(layers.MLP{Inputs: 3, Hidden: []int{1 + idle}, Outputs: 1, Activation: "tanh"}, p.Dtype(), rng)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range net.Params() {
		for i := range w.Value.Shape().TotalSize() {
			w.Set(i, 0)
		}
	}
	const tiny = 1e-3 // of the third input, too little for distances
	const flat = 1e-3 // where tanh is a line
	for i, v := range []float64{1, -2, 1 / tiny} {
		net.Params()[0].Set(i*(1+idle), flat*v)
	}
	net.Params()[2].Set(0, 1/flat)
	x, r := graph.Floats(p.Train.X), residuals(t, p, p.Train)
	wide := make([]float64, 3*n)
	for i := range n {
		copy(wide[3*i:], x[2*i:2*i+2])
		wide[3*i+2] = tiny * (r[i] + 0.01*rng.NormFloat64())
	}
	p.Net, p.Train.X = net, of(wide, p.Dtype(), n, 3)
	return p
}

// near says whether numbers agree up to rounding.
func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
}

// TestBetween: pseudo-rows lie two thirds of the way to the nearest other input, a repeated row
// notwithstanding, with the label of their row.
func TestBetween(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	net, err := layers.Build(layers.MLP{Inputs: 1, Outputs: 2, Activation: "tanh"}, tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	p := gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{
		X: of([]float64{0, 1, 1, 3, 10}, tensor.Float64, 5, 1),
		Y: of([]float64{1, 0, 0, 1, 1, 0, 0, 1, 1, 0}, tensor.Float64, 5, 2),
	}}
	got, found, err := unseen.Problem(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{2. / 3, 1. / 3, 1. / 3, 5. / 3, 16. / 3}; !near(graph.Floats(got.Validation.X), want) {
		t.Errorf("pseudo-rows at %v, want %v", graph.Floats(got.Validation.X), want)
	}
	if !slices.Equal(graph.Floats(got.Validation.Y), graph.Floats(p.Train.Y)) || got.KnownNoise || found != (unseen.Found{}) {
		t.Errorf("labels %v, %+v", got.Validation.Y, found)
	}
	if got.Train != p.Train {
		t.Error("the training examples of classes changed")
	}
}

// TestSame: rows without another input, in which nothing lies between.
func TestSame(t *testing.T) {
	p := line(t, 4, tensor.Float64)
	p.Train.X = of(make([]float64, 8), tensor.Float64, 4, 2)
	p.Train.Y = of([]float64{1, 2, 3, 4}, tensor.Float64, 4, 1)
	got, _, err := unseen.Problem(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Check(); err != nil {
		t.Error(err)
	}
}

// TestManyRows: no more than a thousand pseudo-rows, the same for the same seed; the other
// rows get residuals of those.
func TestManyRows(t *testing.T) {
	p := overfitted(t, line(t, 1100, tensor.Float64), 250)
	got, found, err := unseen.Problem(t.Context(), p, 7)
	if err != nil {
		t.Fatal(err)
	}
	again := got
	if pseudo, err := unseen.Between(t.Context(), p, 7); err != nil {
		t.Fatal(err)
	} else if again.Validation = &pseudo; fixture.Long() {
		if again, _, err = unseen.Problem(t.Context(), p, 7); err != nil {
			t.Fatal(err)
		}
	}
	if n := got.Validation.N(); n != 1000 || got.Train.N() != 1100 {
		t.Errorf("%d pseudo-rows for %d rows", n, got.Train.N())
	}
	if !slices.Equal(graph.Floats(got.Train.Y), graph.Floats(again.Train.Y)) || !slices.Equal(graph.Floats(got.Validation.X), graph.Floats(again.Validation.X)) {
		t.Error("two calls differ")
	}
	if r := rms(residuals(t, got, got.Train)); math.Abs(r/found.Honest-1) > 0.1 {
		t.Errorf("all rows are off by %g, those of the sample by %g", r, found.Honest)
	}
}

// TestFewWeights: six weights cannot memorise 60 rows; the bound is near the own residual.
func TestFewWeights(t *testing.T) {
	got, found, err := unseen.Problem(t.Context(), overfitted(t, line(t, 60, tensor.Float64), 0), 1)
	if err != nil {
		t.Fatal(err)
	}
	if most := math.Sqrt((1 + 66.0/54) / 2); found.Memorised() || math.Abs(found.Honest/found.Own-most) > 1e-9 {
		t.Errorf("found %+v, want the ratio %g of %+v", found, most, got.Likelihood)
	}
}

// TestErrors: what cannot be done is refused.
func TestErrors(t *testing.T) {
	p := line(t, 30, tensor.Float64)
	held := p
	held.Validation = &p.Train
	if _, _, err := unseen.Problem(t.Context(), held, 1); !errors.Is(err, gp.ErrProblem) {
		t.Errorf("validation examples: %v", err)
	}
	if _, _, err := unseen.Problem(t.Context(), gp.Problem{}, 1); !errors.Is(err, gp.ErrProblem) {
		t.Errorf("nothing: %v", err)
	}
	flat := p
	flat.Train.X = of(make([]float64, 60), tensor.Float64, 30, 2)
	flat.Train.Y = of(make([]float64, 30), tensor.Float64, 30, 1)
	if _, _, err := unseen.Problem(t.Context(), flat, 1); !errors.Is(err, gp.ErrProblem) {
		t.Errorf("residuals 0: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := unseen.Problem(ctx, p, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestLaws: Student's t gets the parameters of maximum likelihood for the honest residuals, whose tails it sees, and
// keeps its number of degrees of freedom where this is fixed.
func TestLaws(t *testing.T) {
	p := line(t, 200, tensor.Float64)
	for i := 0; i < 200; i += 20 { // outliers
		p.Train.Y.Float64s()[i] += 8 * noise
	}
	p.Likelihood = likelihood.Each(likelihood.NewStudentT(4, noise, false, tensor.Float64))
	got, found, err := unseen.Problem(t.Context(), p, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := math.Sqrt(likelihood.NoiseVariance(got.Likelihood))
	if !got.KnownNoise || got.Likelihood.String() != "student-t" || s > 0.7*found.Honest || s < 0.5*noise {
		t.Errorf("scale %g of %v, honest error %g; want a scale near the noise %g, well below the error", s, got.Likelihood, found.Honest, noise)
	}
	p.Likelihood = likelihood.Each(likelihood.NewStudentT(1e6, noise, true, tensor.Float64))
	if got, found, err = unseen.Problem(t.Context(), p, 1); err != nil {
		t.Fatal(err)
	}
	if s := math.Sqrt(likelihood.NoiseVariance(got.Likelihood)); math.Abs(s-found.Honest) > 1e-3*found.Honest {
		t.Errorf("scale %g of a million degrees of freedom, want the honest error %g", s, found.Honest)
	}
}

// TestTargetsStay: pseudo-rows of counts, labels and intervals have the targets of their rows.
func TestTargetsStay(t *testing.T) {
	problems := small.Must(t, gptest.ModelProblems)
	for _, p := range problems {
		if likelihood.Noisy(p.Likelihood) && p.Likelihood.Width() == 1 {
			continue
		}
		p.Validation = nil
		got, found, err := unseen.Problem(t.Context(), p.Problem, 1)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if found != (unseen.Found{}) || got.KnownNoise || got.Train.Y != p.Train.Y || !slices.Equal(graph.Floats(got.Validation.Y), graph.Floats(p.Train.Y)) {
			t.Errorf("%s: found %+v, known noise %t, targets %v; want those of the rows", p.Name, found, got.KnownNoise, got.Validation.Y)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}
