package valla

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/cifar"
	"github.com/go-valla/valla/data/image"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train/metric"
)

// verdict fits and returns the verdict.
func verdict(t *testing.T, m *Model, set *data.Set, o FitOptions) *Verdict {
	t.Helper()
	v := fit(t, m, set, o).History[len(m.History)].Verdict
	if v == nil {
		t.Fatal("no verdict")
	}
	return v
}

// TestVerdict compares a verdict with the scores of both models, and its standard error with
// the standard error of the rows' differences.
func TestVerdict(t *testing.T) {
	m, set := trained(t)
	judge := wave(50, 9)
	f := fit(t, m, set, FitOptions{Settings: quickFit(), Judge: judge, Law: law.Gaussian})
	v := f.History[1].Verdict
	alone, both := scores(t, m, judge), scores(t, f, judge)
	near(t, "NLL of the network", v.MAPNLL, alone.NLL(), 1e-12)
	near(t, "NLL of the posterior", v.NLL, both.NLL(), 1e-12)
	a, b := predict(t, m, judge.X), predict(t, f, judge.X)
	var diff []float64
	inside := 0.0
	for i, y := range judge.Y.Float64s() {
		diff = append(diff, metric.GaussianNLL(b.Mean[i], b.Variance[i], y)-metric.GaussianNLL(a.Mean[i], a.Variance[i], y))
		if math.Abs(y-b.Mean[i]) <= 1.959963984540054*b.Std()[i] {
			inside++
		}
	}
	square := 0.0
	for _, d := range diff {
		square += (d - (v.NLL - v.MAPNLL)) * (d - (v.NLL - v.MAPNLL))
	}
	near(t, "standard error", v.StandardError, math.Sqrt(square/49/50), 1e-9)
	near(t, "coverage", v.Coverage, inside/50, 1e-12)
	if v.Rows != 50 || v.Seen || v.Better != (v.NLL < v.MAPNLL) || (v.Advice != "") != (v.Worse() || v.Off != "") {
		t.Errorf("verdict %+v", v)
	}
	again := loaded(t, written(t, f)).History[1].Verdict
	if again == nil || *again != *v {
		t.Errorf("verdict %+v, in the file %+v", v, again)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"rows", "map_nll", "nll", "standard_error", "better", "seen", "map_coverage", "coverage"} {
		if !strings.Contains(string(text), `"`+key+`":`) {
			t.Errorf("no %s in %s", key, text)
		}
	}
}

func scores(t *testing.T, m *Model, set *data.Set) Scores {
	t.Helper()
	s, err := m.Evaluate(t.Context(), set, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVerdictOfClasses(t *testing.T) {
	m, judge := newTestClasses(t, tensor.Float64, 3), thirds(30, 2)
	f := fit(t, m, thirds(60, 1), FitOptions{Settings: &laplace.Settings{Structure: "diag", Hyper: "fixed", PriorStd: 1}, Judge: judge})
	v := f.History[1].Verdict
	alone, both := scores(t, f.Alone(), judge), scores(t, f, judge)
	near(t, "NLL of the network", v.MAPNLL, alone.NLL(), 1e-12)
	near(t, "NLL of the posterior", v.NLL, both.NLL(), 1e-12)
	for _, c := range []struct {
		got  float64
		want Scores
	}{{v.MAPECE, alone}, {v.ECE, both}} {
		ece, _ := c.want.Get("ECE")
		near(t, "ECE", c.got, ece, 1e-12)
	}
	if text := v.String(); !strings.Contains(text, "calibration error") || strings.Contains(text, "intervals") {
		t.Errorf("verdict %q", text)
	}
}

// TestWorse: error bars that are far too wide are called worse than none, with a remedy.
func TestWorse(t *testing.T) {
	m, set := trained(t)
	wide := verdict(t, m, set, FitOptions{Settings: &toySettings{Factor: 1e6}, Judge: wave(50, 2)})
	if wide.Better || !wide.Worse() || !strings.Contains(wide.String(), "worse than the network alone: NLL ") ||
		!strings.Contains(wide.Advice, "worse than none") || !strings.Contains(wide.Advice, "rows that the network has not seen") {
		t.Errorf("verdict %+v", wide)
	}
	own, good := *m, &task.Regression{}
	*good = *m.Task.Outputs.(*task.Regression)
	good.NoiseVariance /= 100 // the network alone is far too sure
	own.Task.Outputs = good
	better := verdict(t, &own, set, FitOptions{Settings: &toySettings{Factor: m.NoiseVariance()}, Judge: wave(400, 2), Law: law.Gaussian})
	if !better.Better || better.Worse() || better.Advice != "" || !strings.HasPrefix(better.String(), "better than the network alone") {
		t.Errorf("verdict %+v", better)
	}
	grid := &Verdict{NLL: 2.1, MAPNLL: 1, StandardError: 0.5}
	grid.advise("lla", map[string]any{"hyper": "grid"})
	if !grid.Worse() || strings.Contains(grid.Advice, "hyper=grid") || !strings.Contains(grid.Advice, "another method") {
		t.Errorf("advice after a grid: %q", grid.Advice)
	}
	if hardly := (&Verdict{NLL: 1, MAPNLL: 1.4, StandardError: 0.5, Better: true}); hardly.Clearly() || !strings.HasPrefix(hardly.String(), "not to be told from the network alone: ") {
		t.Errorf("smaller within the standard error: %v", hardly)
	}
	if even := (&Verdict{NLL: 1.4, MAPNLL: 1, StandardError: 0.5}); even.Worse() || !strings.HasPrefix(even.String(), "not to be told from ") {
		t.Errorf("within the standard error: %v", even)
	}
}

// TestJury: which rows a verdict is made on, and whether they may have been used.
func TestJury(t *testing.T) {
	m, set := trained(t)
	elsewhere := *m
	elsewhere.History = []Event{{Action: ActionWeights}}
	marglik := &laplace.Settings{Structure: "diag", Hyper: "marglik"}
	grid := &laplace.Settings{Structure: "diag", Hyper: "grid"}
	for name, c := range map[string]struct {
		m    *Model
		o    FitOptions
		rows int
		seen bool
	}{
		"rows to judge by":                    {m, FitOptions{Settings: grid, Judge: wave(30, 2)}, 30, false},
		"a fraction that a fit has chosen by": {m, FitOptions{Settings: grid}, 20, true},
		"a fraction that it has not used":     {m, FitOptions{Settings: marglik, Law: "gaussian"}, 20, false},
		"a fraction that has chosen the law":  {m, FitOptions{Settings: marglik, Law: "student-t"}, 20, true},
		"other rows than in training":         {m, FitOptions{Settings: marglik, Run: gp.Run{Seed: 1}}, 20, true},
		"another fraction than in training":   {m, FitOptions{Settings: marglik, Validation: new(0.2)}, 40, true},
		"a network from elsewhere":            {&elsewhere, FitOptions{Settings: marglik}, 200, true},
		"given rows that it has not used":     {&elsewhere, FitOptions{Settings: marglik, Held: wave(25, 2), Law: "gaussian"}, 25, false},
		"given rows that it has chosen by":    {&elsewhere, FitOptions{Settings: grid, Held: wave(25, 2)}, 25, true},
		"no rows held out":                    {m, FitOptions{Settings: marglik, Validation: new(0.0)}, 200, true},
		"VaLLA":                               {m, FitOptions{Settings: quickFit()}, 20, true},
	} {
		if v := verdict(t, c.m, set, c.o); v.Rows != c.rows || v.Seen != c.seen || v.Seen && v.Advice == "" || v.Pseudo != (name == "a network from elsewhere") {
			t.Errorf("%s: verdict %+v, want %d rows, seen %t", name, v, c.rows, c.seen)
		}
	}
	o := FitOptions{Settings: marglik, Judge: &data.Set{Features: []string{"q"}, Targets: []string{"y"}, X: denseOf([]float64{1}, 1, 1), Y: denseOf([]float64{1}, 1, 1)}}
	_, err := m.Fit(t.Context(), set, o)
	oneLine(t, err, `fit: expected the features ["a" "b"], found ["q"]`)
}

// TestSplitOfManyRows: half of 1,000 rows held out or more is kept for the verdict; rows that
// are given are not divided.
func TestSplitOfManyRows(t *testing.T) {
	set := wave(2000, 1)
	o := quickTrain()
	o.Training.Iterations, o.Training.Validation = 20, new(0.5)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &laplace.Settings{Structure: "diag", Hyper: "grid"}
	f := fit(t, m, set, FitOptions{Settings: s, Validation: new(0.5)})
	if e := f.History[1]; e.ValidationRows != 500 || e.Verdict.Rows != 500 || e.Verdict.Seen {
		t.Errorf("%d rows to choose by, verdict %+v", e.ValidationRows, e.Verdict)
	}
	_, held, err := holdout.Split(set, 0.5, 0)
	if err != nil {
		t.Fatal(err)
	}
	f = fit(t, m, set, FitOptions{Settings: s, Held: held})
	if e := f.History[1]; e.ValidationRows != 1000 || e.Verdict.Rows != 1000 || !e.Verdict.Seen {
		t.Errorf("given rows: %d to choose by, verdict %+v", e.ValidationRows, e.Verdict)
	}
	choose, judge := holdout.Halves(held.Rows(dense.Spaced(3, 3)), 1)
	if choose.N() != 2 || judge.N() != 1 {
		t.Errorf("halves of %d and %d rows", choose.N(), judge.N())
	}
}

// TestVerdictOfCostlyNetworks: a fit to a network whose predictions are slow is examined at fewer
// rows, but at a quarter of the usual number at least, and at all that are given for it.
func TestVerdictOfCostlyNetworks(t *testing.T) {
	for width, want := range map[int]int{10: holdout.MostJudges, 1500: 1772, 4000: holdout.MostJudges / 4} {
		m, set := newTestModel(t, tensor.Float32, 0, width, width), wave(holdout.MostJudges+100, 1)
		p, err := m.Problem(t.Context(), set, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		share, err := judgedShare(p)
		if err != nil || int(math.Ceil(share*holdout.MostJudges)) != want {
			t.Errorf("width %d: a share of %g, error %v; expected %d rows", width, share, err, want)
		}
		for rows, d := range map[int]division{want: {held: set}, set.N(): {judge: set, given: true}} {
			if j, err := d.jury(m, p, gp.Record{}, share); err != nil || j.y.Shape()[0] != rows {
				t.Errorf("width %d: %d rows, error %v; expected %d", width, j.y.Shape()[0], err, rows)
			}
		}
	}
}

// blind is the toy method with predictions that are no distribution.
func init() {
	m := toyMethod
	m.Name, m.New = "blind", func() gp.Settings { return new(blindSettings) }
	method.Register(m)
}

type blindSettings struct {
	Variance float64 `set:"variance" default:"1" help:"of the posterior"`
}

func (s *blindSettings) Label() string { return "Blind" }

func (s *blindSettings) Fit(_ context.Context, p gp.Problem, _ gp.Run) (*gp.Fitted, error) {
	q := &toyPosterior{gp.Point{Net: p.Net, Dtype: p.Dtype()}, 1, denseOf([]float64{s.Variance}, 1)}
	return &gp.Fitted{Posterior: q, NoiseVariance: 0.1, Record: gp.Record{Rows: p.Train.N()}}, nil
}

// TestFitRefusesWhatCannotPredict: such a model is never returned.
func TestFitRefusesWhatCannotPredict(t *testing.T) {
	m, set := trained(t)
	for _, variance := range []float64{-1, math.NaN(), math.Inf(1)} {
		f, err := m.Fit(t.Context(), set, FitOptions{Settings: &blindSettings{Variance: variance}})
		if oneLine(t, err, "fit: the fitted posterior cannot predict, try method=lla", "row 0 (counting from 0)"); f != nil {
			t.Errorf("variance %g: a model", variance)
		}
	}
}

// TestWarnings: what looks wrong is said, with what to do about it.
func TestWarnings(t *testing.T) {
	good, set := trained(t)
	quiet := fit(t, good, set, FitOptions{Settings: quickFit()})
	if notes := quiet.History[1].Notes; len(notes) != 0 {
		t.Errorf("a good fit has the notes %q", notes)
	}
	untrained := *good
	var err error
	form := layers.MLP{Inputs: 2, Hidden: []int{10}, Outputs: 1, Activation: "tanh"}
	if untrained.Net, err = form.New(tensor.Float64, holdout.Rand(1, 1)); err != nil {
		t.Fatal(err)
	}
	for _, p := range untrained.Net.Params() {
		for i := range p.Floats() {
			p.Set(i, 3*p.At(i))
		}
	}
	loud, still := *good, *good
	loud.Task.Outputs = withNoise(good, 2)
	still.Task.Outputs = withNoise(good, 1e-6)
	classes, labels := newTestClasses(t, tensor.Float64, 3), thirds(60, 1)
	for _, p := range classes.Net.Params() {
		for i := range p.Floats() {
			p.Set(i, 5*p.At(i))
		}
	}
	o, visits := modelledProblems[0].options(t, "float64"), modelledProblems[0].set(50, 1)
	counts, err := Train(t.Context(), visits, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range counts.Net.Params() {
		for i := range p.Floats() {
			p.Set(i, 3*p.At(i))
		}
	}
	for _, c := range []struct {
		m    *Model
		set  *data.Set
		toy  float64
		want []string
	}{
		{counts, visits, 0.5, []string{"The network is worse than predicting the same for all rows: its NLL is", "is another quantity than the likelihood poisson expects"}},
		{&untrained, set, 0.5, []string{"The network is worse than predicting the mean: its root mean squared error is", "standardize"}},
		{classes, labels, 0.5, []string{"The network is worse than predicting the frequency of each class", "the classes in another order", "standardize"}},
		{good, set, 1e-9, []string{"The posterior adds nothing", "rows that the network has not seen"}},
		{&loud, set, 0.5, []string{"times that of the targets", "the setting noise-std"}},
		{&still, set, 0.5, []string{"of the residual's", "epistemic and aleatoric"}},
	} {
		notes := strings.Join(fit(t, c.m, c.set, FitOptions{Settings: &toySettings{Factor: c.toy}}).History[1].Notes, "\n")
		for _, w := range c.want {
			if !strings.Contains(notes, w) {
				t.Errorf("notes %q, want %q in them", notes, w)
			}
		}
	}
}

// TestVarianceOfCounts: a variance of the logarithm of a mean of thousands shows where Poisson's scatter is as small.
func TestVarianceOfCounts(t *testing.T) {
	o := modelledProblems[0].options(t, "float64")
	o.Training.Iterations = 1
	m, err := Train(t.Context(), modelledProblems[0].set(50, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		count, variance float64
		warned          bool
	}{{3000, 2e-5, false}, {3000, 2e-8, true}, {0.1, 2e-5, true}, {3, 2e-4, false}} {
		p := judged{Prediction: &Prediction{}, variance: c.variance}
		p.Mean = []float64{c.count, c.count}
		if notes := m.posteriorWarnings(p); (len(notes) > 0) != c.warned {
			t.Errorf("counts of %g with the variance %g: notes %q", c.count, c.variance, notes)
		}
	}
}

// withNoise are the outputs of a model with another noise variance.
func withNoise(m *Model, variance float64) task.Outputs {
	r := *m.Task.Outputs.(*task.Regression)
	r.NoiseVariance = variance
	return &r
}

// TestForgottenScaling: a network that was trained on standardised data and is taken as if
// it worked in the units of the data is noticed.
func TestForgottenScaling(t *testing.T) {
	m, set := trained(t)
	path := t.TempDir() + "/net.npz"
	if err := layers.Save(path, m.Net); err != nil {
		t.Fatal(err)
	}
	for _, standardize := range []bool{true, false} {
		w, err := FromWeights(t.Context(), path, set, WeightOptions{Network: Network{Activation: "tanh"}, Standardize: standardize})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(fit(t, w, set, FitOptions{Settings: &laplace.Settings{Structure: "diag"}}).History[1].Notes, "\n")
		if strings.Contains(notes, "worse than predicting the mean") == standardize {
			t.Errorf("standardize %t: notes %q", standardize, notes)
		}
	}
}

// TestClassesOfAQuantity: a target of many values that are no whole numbers, or of hardly
// more rows than values, holds no classes.
func TestClassesOfAQuantity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	table := func(n int, value func() float64) *data.Set {
		set := wave(n, 1)
		for i := range set.Y.Float64s() {
			set.Y.Float64s()[i] = value()
		}
		return set
	}
	for name, c := range map[string]struct {
		set *data.Set
		ok  bool
	}{
		"house prices":     {table(506, func() float64 { return math.Round(100*rng.Float64()) / 4 }), false},
		"numbers of rows":  {table(60, func() float64 { return float64(rng.IntN(1000)) }), false},
		"a hundred labels": {table(1000, func() float64 { return float64(rng.IntN(100)) }), true},
		"halves":           {table(40, func() float64 { return float64(rng.IntN(10)) / 2 }), true},
	} {
		_, err := task.Classes(c.set)
		if (err == nil) != c.ok || !c.ok && (!errors.Is(err, ErrSetting) || !strings.Contains(err.Error(), "look like numbers: leave out classes")) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestPseudoRowsOnlyWhereTheyMakeSense: a network of images, and one that tells few
// pseudo-rows right, are fitted with rows held out, and the notes say so.
func TestPseudoRowsOnlyWhereTheyMakeSense(t *testing.T) {
	how := FitOptions{Settings: &laplace.Settings{Structure: "diag", Hyper: "marglik"}}
	m, set := newTestClasses(t, tensor.Float64, 3), thirds(60, 1)
	m.History = []Event{{Action: ActionWeights}}
	shuffled := &data.Set{Features: set.Features, Targets: set.Targets, X: set.X, Y: data.TakeRows(set.Y, holdout.Rand(3, 0).Perm(60))}
	net := layers.Sequential{layers.Flatten{}, m.Net}
	form, err := layers.Describe(net, 1, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	picture := set.X.Clone().(*tensor.Dense)
	if err := picture.Reshape(60, 1, 1, 2); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(m *Model)
		set    *data.Set
	}{
		"labels that do not follow the inputs": {func(*Model) {}, shuffled},
		"images": {func(m *Model) { m.Form, m.Net, m.Task.Inputs = form, net, task.Inputs{Shape: []int{1, 1, 2}} },
			&data.Set{Targets: set.Targets, X: picture, Y: set.Y}},
	} {
		own := *m
		c.change(&own)
		f := fit(t, &own, c.set, how)
		e := f.History[len(f.History)-1]
		if e.ValidationRows != 6 || e.Verdict.Pseudo || !e.Verdict.Seen || len(e.Notes) == 0 || !strings.Contains(e.Notes[0], "may have been trained on the rows held out") {
			t.Errorf("%s: %d rows held out, verdict %+v, notes %q", name, e.ValidationRows, e.Verdict, e.Notes)
		}
	}
}

// TestPseudoImages: a network that has memorised its images is validated with parts of the images.
// Any other network is validated with images held out.
func TestPseudoImages(t *testing.T) {
	const n, side = 40, 16
	x, y, rng := make([]float64, n*side*side), make([]float64, n), holdout.Rand(5, 0)
	for i := range y { // bright and dark images
		y[i] = float64(i % 2)
		for k := range side * side {
			x[i*side*side+k] = y[i] + 0.3*rng.NormFloat64()
		}
	}
	set := &data.Set{Targets: []string{"y"}, X: tensor.New(tensor.WithShape(n, 1, side, side), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
	m, err := Train(t.Context(), set, TrainOptions{Classes: true, Network: Network{Form: "cnn", Filters: []int{1}, Hidden: []int{}},
		Training: Training{Iterations: 100, Validation: new(0.0), KeepLast: true}})
	if err != nil {
		t.Fatal(err)
	}
	m.History = []Event{{Action: ActionWeights}}
	how := FitOptions{Settings: &laplace.Settings{Structure: "kfac", Weights: []string{"last-layer"}}}
	e := fit(t, m, set, how).History[1]
	if e.ValidationRows != n || !e.Verdict.Pseudo || !strings.Contains(strings.Join(e.Notes, " "), "40 parts of images, each made as large as the whole, validated the fit") {
		t.Errorf("memorised: %d rows, verdict %+v, notes %q", e.ValidationRows, e.Verdict, e.Notes)
	}
	y[0] = 1 - y[0] // one of forty is told wrong
	if e := fit(t, m, set, how).History[1]; e.ValidationRows != n/10 || e.Verdict.Pseudo {
		t.Errorf("not memorised: %d rows, verdict %+v, notes %q", e.ValidationRows, e.Verdict, e.Notes)
	}
}

// TestTimid: that a classifier is right more often than it says, which no variance mends, is said where no held-out rows choose a
// temperature, and only where the rows tell.
func TestTimid(t *testing.T) {
	set, rows := quadrants(plane(300, 1), 1), quadrants(plane(500, 2), 2)
	m, err := Train(t.Context(), set, TrainOptions{Network: Network{Hidden: []int{20}}, Training: Training{Iterations: 600, WeightDecay: new(0.0), KeepLast: true}, Classes: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &laplace.Settings{Weights: []string{"last-layer"}}
	var temperature float64
	said := func(o FitOptions) bool {
		o.Settings = s
		f := fit(t, m, set, o)
		temperature = f.Posterior.Temperature
		return strings.Contains(strings.Join(f.History[1].Notes, " "), "right more often than it says: with logits divided by 0.")
	}
	none := new(0.0)
	if said(FitOptions{Validation: none, Judge: rows}) {
		t.Error("a network that is trained well is called under-confident")
	}
	params := m.Net.Params()
	for _, p := range params[len(params)-2:] {
		for i, v := range p.Floats() {
			p.Set(i, 0.3*v)
		}
	}
	if !said(FitOptions{Validation: none, Judge: rows}) {
		t.Error("nothing is said of logits that are too small")
	}
	if said(FitOptions{Judge: rows}) || temperature > 0.5 {
		t.Errorf("held-out rows choose the temperature %g for logits that are 0.3 times too small, or it is said that nothing does", temperature)
	}
	if said(FitOptions{Validation: none}) {
		t.Error("training rows are taken for new ones")
	}
}

// TestPretrainedImages: the error bars of a network that was trained elsewhere, and has memorised
// its images, are chosen without images that it has not seen, and predict these much better
// than the network alone.
func TestPretrainedImages(t *testing.T) {
	if !fixture.Long() {
		t.Skipf("skipped without %s", fixture.LongVariable)
	}
	s, err := cifar.CIFAR10(fixture.Shared(t, "data", "cifar10"))
	if err != nil {
		t.Fatal(err)
	}
	pictures := func(of *image.Set, n int) *data.Set {
		y := make([]float64, n)
		for i := range y {
			y[i] = float64(of.Labels[i])
		}
		x := tensor.New(tensor.WithShape(n, 3, 32, 32), tensor.WithBacking(of.Pixels[:n*3*32*32]))
		return &data.Set{Targets: []string{"class"}, X: x, Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
	}
	set, test := pictures(s.Train, 400), pictures(s.Test, 1000)
	m, err := FromWeights(t.Context(), fixture.Shared(t, "weights", "chenyaofo_cifar10_resnet20.npz"), set, WeightOptions{Classes: true, Network: Network{
		Form: "resnet20", Dtype: "float32", Mean: []float64{0.4914, 0.4822, 0.4465}, Std: []float64{0.2023, 0.1994, 0.2010}}})
	if err != nil {
		t.Fatal(err)
	}
	f := fit(t, m, set, FitOptions{Settings: &laplace.Settings{Structure: "kfac", Weights: []string{"last-layer"}}})
	if e := f.History[1]; !e.Verdict.Pseudo {
		t.Fatalf("verdict %+v, notes %q", e.Verdict, e.Notes)
	}
	nll := func(m *Model) float64 {
		scores, err := m.Evaluate(t.Context(), test, PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return scores.NLL()
	}
	alone, with := nll(m), nll(f)
	t.Logf("NLL %.4f of new images, %.4f of the network alone", with, alone)
	if with > 0.9*alone {
		t.Errorf("NLL %.4f of new images, %.4f of the network alone", with, alone)
	}
}

// TestLeastDifference: a difference that does not matter is neither better nor worse, however small its standard error.
func TestLeastDifference(t *testing.T) {
	tiny := &Verdict{Rows: 1000, MAPNLL: 0.001, NLL: 0.0010004, StandardError: 1.2e-7}
	tiny.advise("lla", nil)
	if tiny.Worse() || tiny.Advice != "" || !strings.HasPrefix(tiny.String(), "as good as the network alone: NLL 0.0010 instead of 0.0010") {
		t.Errorf("a difference of 4e-7: %v, advice %q", tiny, tiny.Advice)
	}
	if less := (&Verdict{MAPNLL: 0.001, NLL: 0.0009, StandardError: 1e-7, Better: true}); !strings.HasPrefix(less.String(), "as good as") {
		t.Errorf("a difference of 1e-4: %v", less)
	}
	if more := (&Verdict{MAPNLL: 0.001, NLL: 0.0021, StandardError: 1e-7}); !more.Worse() || !strings.HasPrefix(more.String(), "worse than") {
		t.Errorf("a difference of 0.0011: %v", more)
	}
}

// TestPseudoRowsPromiseNothing: a verdict by pseudo-rows says what it is worth.
func TestPseudoRowsPromiseNothing(t *testing.T) {
	v := &Verdict{Rows: 300, MAPNLL: 0.2778, NLL: 0.2090, StandardError: 0.01, Better: true, Seen: true, Pseudo: true}
	v.advise("lla", nil)
	if !strings.HasSuffix(v.String(), "pseudo-rows promise nothing for new rows") || !strings.Contains(v.Advice, "judge by rows that neither training nor fit has seen") {
		t.Errorf("verdict %v, advice %q", v, v.Advice)
	}
}

// TestIntervalsThatAreOff: a verdict names the levels that the intervals do not hold, and the remedy unless the posterior is
// worse than the network alone.
func TestIntervalsThatAreOff(t *testing.T) {
	m, set := trained(t)
	own := *m
	own.Task.Outputs = withNoise(m, m.NoiseVariance()/1000)
	v := verdict(t, &own, set, FitOptions{Settings: &toySettings{Factor: m.NoiseVariance() / 25}, Judge: wave(200, 2), Law: "gaussian"})
	if !strings.Contains(v.String(), "; calibrate: 50 % intervals hold ") {
		t.Errorf("verdict %v", v)
	}
	v.NLL, v.Advice = v.MAPNLL-10*v.StandardError, ""
	v.advise("valla", nil)
	if !v.Clearly() || !strings.Contains(v.Advice, "calibrate the model by rows that neither") {
		t.Errorf("verdict %v, advice %q", v, v.Advice)
	}
}

// TestNetworkWithALaw: where the residuals have heavy tails, the network alone is judged with a law of them, also beside a
// posterior without one.
func TestNetworkWithALaw(t *testing.T) {
	gaussian, chosen := heavyModels(t, heavy(3000, 1))
	of := func(m *Model) *Verdict { return m.History[len(m.History)-1].Verdict }
	a, b := of(gaussian), of(chosen)
	if a.MAPWith != "the law student-t" || b.MAPWith != a.MAPWith || !strings.Contains(b.String(), "the network alone with the law student-t: NLL ") || b.MAPNLL != a.MAPNLL {
		t.Errorf("verdicts %v and %v", a, b)
	}
}

// TestStandardErrorOfVerdicts: with heavy tails the differences of printed and true gains have the printed standard errors,
// since both log densities have heavy tails. With Gaussian noise around the network alone they would be larger.
func TestStandardErrorOfVerdicts(t *testing.T) {
	if !fixture.Long() {
		t.Skip("takes 15 seconds; set VALLA_LONG=1")
	}
	var square [2]float64
	const n = 200
	for seed := range uint64(n) {
		set, judge, fresh, o := heavy(1200, 100+seed), heavy(150, 500+seed), heavy(6000, 900+seed), quickTrain()
		o.Seed = seed
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		how := FitOptions{Settings: &laplace.Settings{Structure: "diag"}, Judge: judge, Run: gp.Run{Seed: seed}}
		f := fit(t, m, set, how)
		gain := func(network *Model, set *data.Set) (mean, standard float64) {
			return kernel.MeanDifference(nlls(t, f, set), nlls(t, network, set))
		}
		for k, network := range []*Model{m, f.Alone()} {
			printed, a := gain(network, judge)
			truth, b := gain(network, fresh)
			square[k] += (printed - truth) * (printed - truth) / (a*a + b*b) / n
		}
	}
	gaussian, law := math.Sqrt(square[0]), math.Sqrt(square[1])
	t.Logf("standardised differences have the deviation %.2f, and %.2f with Gaussian noise around the network alone", law, gaussian)
	if law > 1.15 || law < 0.85 {
		t.Errorf("standardised differences have the deviation %.2f, expected 1", law)
	}
}

func nlls(t *testing.T, m *Model, set *data.Set) []float64 {
	t.Helper()
	out, err := m.Task.NLLs(predict(t, m, set.X), set.Y)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
