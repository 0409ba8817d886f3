package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
	"github.com/go-valla/valla/train/metric"
)

var (
	_ Outputs = (*Regression)(nil)
	_ Outputs = (*Classification)(nil)
)

func pair() *Regression {
	return &Regression{Names: []string{"y", "z"}, Mean: []float64{10, -1}, Std: []float64{4, 0.5}, NoiseVariance: 0.25}
}

// gaussian returns means [n,c] with covariances of some size that are not diagonal.
func gaussian(c int, means ...float64) gp.Gaussian {
	cov := make([]float64, len(means)*c)
	for i := range cov {
		cov[i] = 0.1
		if i%(c*c)%(c+1) == 0 {
			cov[i] = 1 + float64(i)
		}
	}
	return gp.Gaussian{Mean: means, Cov: cov}
}

func TestRegressionPredict(t *testing.T) {
	r, g := pair(), gaussian(2, 0, 1, -2, 3)
	p, err := predicted(t.Context(), r, g, 0.5, PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Diagonals of the covariances are 1, 4 and 5, 8.
	for name, c := range map[string][2][]float64{
		"mean":     {p.Mean, {10, -0.5, 2, 0.5}},
		"latent":   {p.Latent, {16, 1, 80, 2}},
		"variance": {p.Variance, {1.5 * 16, 4.5 / 4, 5.5 * 16, 8.5 / 4}},
		"std":      {p.Std(), {math.Sqrt(24), math.Sqrt(1.125), math.Sqrt(88), math.Sqrt(2.125)}},
		"latents":  {p.LatentStd(), {4, 1, math.Sqrt(80), math.Sqrt2}},
		"noise":    {r.NoiseStds(0.25), {2, 0.25}},
	} {
		for i, v := range c[0] {
			near(t, fmt.Sprint(name, i), v, c[1][i], 1e-15)
		}
	}
	if p.N() != 2 || p.Best() != nil || p.Classes != nil || !slices.Equal(p.Targets, r.Names) {
		t.Errorf("prediction %+v", p)
	}
	// In the network's own units nothing is scaled.
	p, err = predicted(t.Context(), &Regression{Names: []string{"y", "z"}, NoiseVariance: 1}, g, 0.5, PredictOptions{})
	if err != nil || !slices.Equal(p.Mean, g.Mean) || p.Variance[3] != 8.5 {
		t.Errorf("prediction %+v, error %v", p, err)
	}
}

func TestRegressionPredictErrors(t *testing.T) {
	for want, spoil := range map[string]func(g gp.Gaussian){
		`row 1 (counting from 0), target "z": mean NaN`:    func(g gp.Gaussian) { g.Mean[3] = math.NaN() },
		`row 0 (counting from 0): a latent variance of -1`: func(g gp.Gaussian) { g.Cov[0] = -1 },
		`is +Inf, expected a finite number`:                func(g gp.Gaussian) { g.Cov[7] = math.Inf(1) },
	} {
		g := gaussian(2, 0, 1, -2, 3)
		spoil(g)
		p, err := predicted(t.Context(), pair(), g, 0.5, PredictOptions{})
		if oneLine(t, err, want); p != nil {
			t.Errorf("a prediction came with the error %v", err)
		}
	}
}

func TestStandardizedTargets(t *testing.T) {
	set := &data.Set{Targets: []string{"y", "z"}, Y: denseOf([]float64{0, 5, 2, 5, 4, 5}, 3, 2)}
	r, err := StandardizedTargets(set)
	if err != nil || r.check() != nil {
		t.Fatal(err)
	}
	near(t, "mean", r.Mean[0], 2, 1e-15)
	near(t, "std", r.Std[0], math.Sqrt(8./3), 1e-15)
	near(t, "std of a constant", r.Std[1], 1, 0)
	if r.kind() != "regression" || r.size() != 2 || !slices.Equal(r.targets(), set.Targets) {
		t.Errorf("%+v", r)
	}
	y, err := r.encode(set.Y, tensor.Float32)
	if err != nil || y.Dtype() != tensor.Float32 || !slices.Equal(y.Shape(), []int{3, 2}) {
		t.Fatalf("%v, error %v", y, err)
	}
	near(t, "encoded", float64(y.Float32s()[4]), 2/math.Sqrt(8./3), 1e-7)
	if set.Y.Float64s()[4] != 4 {
		t.Error("Encode changed its targets")
	}
	_, err = StandardizedTargets(&data.Set{Y: denseOf([]float64{math.MaxFloat64, math.MaxFloat64, 0}, 3, 1)})
	oneLine(t, err, "standardize")
	for _, scale := range []float64{1e-170, 1e170} { // whose variance no number holds
		r, err := StandardizedTargets(&data.Set{Targets: []string{"y"}, Y: denseOf([]float64{scale, -scale}, 2, 1)})
		if err != nil {
			t.Fatal(err)
		}
		oneLine(t, r.check(), fmt.Sprintf("targets: \"y\" has the standard deviation %g, expected 1e-140 to 1e+140", scale))
	}
}

// Encoding and predicting undo each other, whatever the scale.
func TestEncodeAndPredictAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(1, 5).Draw(t, "n"), rapid.IntRange(1, 4).Draw(t, "targets")
		r := &Regression{NoiseVariance: 1}
		for i := range k {
			r.Names = append(r.Names, fmt.Sprint("t", i))
			r.Mean = append(r.Mean, rapid.Float64Range(-100, 100).Draw(t, "mean"))
			r.Std = append(r.Std, rapid.Float64Range(0.01, 100).Draw(t, "std"))
		}
		y := rapid.SliceOfN(rapid.Float64Range(-1000, 1000), n*k, n*k).Draw(t, "y")
		f, err := r.encode(denseOf(slices.Clone(y), n, k), tensor.Float64)
		if err != nil {
			t.Fatal(err)
		}
		noise := rapid.Float64Range(0.1, 10).Draw(t, "noise")
		p, err := predicted(context.Background(), r, gp.Gaussian{Mean: f.Float64s(), Cov: make([]float64, n*k*k)}, noise, PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range p.Mean {
			if math.Abs(v-y[i]) > 1e-9 || math.Abs(p.Std()[i]-r.NoiseStds(noise)[i%k]) > 1e-9*r.Std[i%k] || p.Latent[i] != 0 {
				t.Fatalf("target %g became %g ± %g", y[i], v, p.Std()[i])
			}
		}
	})
}

func TestRegressionErrors(t *testing.T) {
	for want, r := range map[string]*Regression{
		"without targets":         {NoiseVariance: 1},
		"noise variance 0":        {Names: []string{"y"}},
		"noise variance NaN":      {Names: []string{"y"}, NoiseVariance: math.NaN()},
		"noise variance +Inf":     {Names: []string{"y"}, NoiseVariance: math.Inf(1)},
		"no likelihood of a fit":  {Names: []string{"y"}, NoiseVariance: 1, Inside: true},
		"0 means and 1 standard":  {Names: []string{"y"}, NoiseVariance: 1, Std: []float64{1}},
		`"y": mean +Inf`:          {Names: []string{"y"}, NoiseVariance: 1, Std: []float64{1}, Mean: []float64{math.Inf(1)}},
		`standard deviation 0, e`: {Names: []string{"y"}, NoiseVariance: 1, Std: []float64{0}, Mean: []float64{0}},
	} {
		oneLine(t, r.check(), want)
	}
	for want, y := range map[string]*tensor.Dense{
		"targets of shape (4), expected [N,2]":               denseOf([]float64{1, 2, 3, 4}, 4),
		"targets of shape (4, 1), expected [N,2]":            denseOf([]float64{1, 2, 3, 4}, 4, 1),
		`row 1 (counting from 0), target "z": expected a fi`: denseOf([]float64{1, 2, 3, math.NaN()}, 2, 2),
		"targets: expected an array":                         nil,
	} {
		_, err := pair().encode(y, tensor.Float64)
		oneLine(t, err, want)
	}
	_, err := (&Regression{Names: []string{"y"}}).encode(denseOf([]float64{1, 1e39}, 2, 1), tensor.Float32)
	oneLine(t, err, `row 1 (counting from 0), target "y": 1e+39 is out of range for a network in float32`)
	_, err = Task{Outputs: pair()}.Score(&Prediction{}, denseOf([]float64{1, 2}, 2, 1))
	oneLine(t, err, "targets of shape (2, 1), expected [N,2]")
}

// The loss of rows held out is the mean of HeldLoss, and the same as the training's.
func TestLosses(t *testing.T) {
	for _, o := range []Outputs{pair(), &Classification{Name: "y", Classes: []float64{0, 1}}} {
		y, f := []float64{1, 0, 0, 1, 0, 1}, []float64{0.5, -1, 2, 3, -4, 0.25}
		sum := 0.0
		for i := range 3 {
			sum += o.heldLoss(y[2*i:2*i+2], f[2*i:2*i+2]) / 3
		}
		b := graph.NewBuilder(tensor.Float64)
		yn, fn := b.Param(&graph.Param{Name: "y", Value: denseOf(y, 3, 2)}), b.Param(&graph.Param{Name: "f", Value: denseOf(f, 3, 2)})
		loss := o.loss()(b, yn, fn)
		prog, err := graph.Compile(b, []*graph.Node{loss}, graph.Options{})
		if err == nil {
			err = prog.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		near(t, o.kind()+" loss", graph.Floats(prog.Value(loss))[0], sum, 1e-12)
	}
	if l, ok := pair().likelihood().(likelihood.Gaussian); !ok || math.Abs(likelihood.NoiseVariance(l)-0.25) > 1e-15 {
		t.Error("the likelihood of numbers has another noise")
	}
	if _, ok := (&Classification{}).likelihood().(likelihood.Softmax); !ok {
		t.Error("classes have no softmax")
	}
	var _ train.Loss = pair().loss()
}

func three() *Classification { return &Classification{Name: "k", Classes: []float64{-1, 0.5, 4}} }

func TestClasses(t *testing.T) {
	set := &data.Set{Targets: []string{"k"}, Y: denseOf([]float64{4, 0.5, 4, -1, 0.5}, 5, 1)}
	c, err := Classes(set)
	if err != nil || !slices.Equal(c.Classes, three().Classes) || c.Name != "k" || c.check() != nil || c.size() != 3 || c.kind() != "classification" {
		t.Fatalf("%+v, error %v", c, err)
	}
	labels, err := c.Labels(set.Y)
	if err != nil || !slices.Equal(labels, []int{2, 1, 2, 0, 1}) {
		t.Errorf("labels %v, error %v", labels, err)
	}
	y, err := c.encode(set.Y, tensor.Float32)
	if err != nil || !slices.Equal(y.Float32s(), []float32{0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0}) || !slices.Equal(y.Shape(), []int{5, 3}) {
		t.Errorf("encoded %v, error %v", y, err)
	}
	if !slices.Equal((gp.Examples{X: y, Y: y}).Labels(), labels) {
		t.Error("one-hot rows have other labels")
	}
	numbered := Classification{Classes: []float64{-1, 1e-7, 0.5, 4, 1e6, 1234567, 1e21}}
	for k, want := range []string{"-1", "1e-07", "0.5", "4", "1000000", "1234567", "1e+21"} {
		if got := numbered.ClassName(k); got != want {
			t.Errorf("class %d is called %q, expected %q", k, got, want)
		}
	}
}

// TestComplete: a network with more outputs than the rows have classes tells the others, if these are most of the numbers 0, 1, ….
func TestComplete(t *testing.T) {
	upTo := func(n int, without ...float64) (v []float64) {
		for i := range n {
			if !slices.Contains(without, float64(i)) {
				v = append(v, float64(i))
			}
		}
		return v
	}
	for what, c := range map[string]struct {
		classes []float64
		names   []string
		n       int
		want    []float64
	}{
		"without two":   {upTo(20, 0, 7), nil, 20, upTo(20)},
		"all":           {upTo(20), nil, 20, upTo(20)},
		"few outputs":   {upTo(20, 0), nil, 19, upTo(20, 0)},
		"without three": {upTo(20, 1, 2, 3), nil, 20, upTo(20, 1, 2, 3)},
		"two of three":  {upTo(2), nil, 3, upTo(2)},
		"one below 0":   {append([]float64{-1}, upTo(18)...), nil, 20, append([]float64{-1}, upTo(18)...)},
		"broken":        {append(upTo(18), 18.5), nil, 20, append(upTo(18), 18.5)},
		"texts":         {upTo(19), make([]string, 19), 20, upTo(19)},
	} {
		k := &Classification{Name: "k", Classes: slices.Clone(c.classes), Names: c.names}
		if k.Complete(c.n); !slices.Equal(k.Classes, c.want) {
			t.Errorf("%s: classes %v of %d outputs become %v, want %v", what, c.classes, c.n, k.Classes, c.want)
		}
	}
}

func TestClassErrors(t *testing.T) {
	many := make([]float64, maxClasses+1)
	for i := range many {
		many[i] = float64(i)
	}
	for want, set := range map[string]*data.Set{
		"2 targets of classes, expected one":                             {Targets: []string{"a", "b"}},
		`the target "k" has 1 different values, expected 2 to 1000 clas`: {Targets: []string{"k"}, Y: denseOf([]float64{1, 1}, 2, 1)},
		`the target "k" has 1001 different values`:                       {Targets: []string{"k"}, Y: denseOf(many, len(many), 1)},
	} {
		_, err := Classes(set)
		oneLine(t, err, want)
	}
	for want, classes := range map[string][]float64{
		"1 classes, expected 2 to 1000": {1}, `class 1 (counting from 0) of "k" is 1, expected finite numbers, ascending`: {2, 1},
		"class 1 (counting from 0) of \"k\" is 2": {2, 2}, `is NaN`: {math.NaN(), 1}, "1001 classes": many,
	} {
		oneLine(t, (&Classification{Name: "k", Classes: classes}).check(), want)
	}
	for want, y := range map[string]*tensor.Dense{
		"targets of shape (2), expected [N,1]":                              denseOf([]float64{1, 2}, 2),
		`row 1 (counting from 0), target "k": 3 is none of the 3 classes`:   denseOf([]float64{4, 3}, 2, 1),
		`row 0 (counting from 0), target "k": NaN is none of the 3 classes`: denseOf([]float64{math.NaN()}, 1, 1),
		"targets: expected an array":                                        nil,
	} {
		_, err := three().encode(y, tensor.Float64)
		oneLine(t, err, want)
		_, err = Task{Outputs: three()}.Score(&Prediction{}, y)
		oneLine(t, err, want)
	}
}

func TestLinks(t *testing.T) {
	c, g := three(), gaussian(3, 1, 2, 3, 0, -1, 5)
	p, err := predicted(t.Context(), c, g, 0, PredictOptions{})
	if err != nil || p.Link != Probit || !slices.Equal(p.Probs, gp.Probit(nil, g)) || p.N() != 2 {
		t.Fatalf("%+v, error %v", p, err)
	}
	if !slices.Equal(p.Best(), []int{2, 2}) || p.Mean != nil || !slices.Equal(p.Classes, c.Classes) {
		t.Errorf("best %v", p.Best())
	}
	want := make([]float64, 6)
	if err := gp.MonteCarloProbs(t.Context(), want, g, gp.Samples, 3, 0); err != nil {
		t.Fatal(err)
	}
	mc, err := predicted(t.Context(), c, g, 0, PredictOptions{Link: MonteCarlo, Seed: 3})
	if err != nil || mc.Link != MonteCarlo || !slices.Equal(mc.Probs, want) {
		t.Errorf("%+v, want %v, error %v", mc, want, err)
	}
	if few, err := predicted(t.Context(), c, g, 0, PredictOptions{Link: MonteCarlo, Seed: 3, Samples: 7}); err != nil || slices.Equal(few.Probs, mc.Probs) {
		t.Errorf("7 samples give what %d give, error %v", gp.Samples, err)
	}
	for want, o := range map[string]PredictOptions{`link "softmax", expected "probit", "mc", "bridge" or "own"`: {Link: "softmax"}, "-3 samples": {Link: MonteCarlo, Samples: -3}} {
		_, err := predicted(t.Context(), c, g, 0, o)
		if oneLine(t, err, want); !errors.Is(err, settings.ErrSetting) {
			t.Errorf("error %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := predicted(ctx, c, g, 0, PredictOptions{Link: MonteCarlo}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	g.Mean[4] = math.Inf(1)
	_, err = predicted(t.Context(), c, g, 0, PredictOptions{})
	oneLine(t, err, "row 1 (counting from 0): logit +Inf")
}

func TestInterval(t *testing.T) {
	p := &Prediction{Mean: []float64{1}, Variance: []float64{4}}
	lower, upper, err := p.Interval(0.95)
	if err != nil {
		t.Fatal(err)
	}
	const z = 1.959963984540054 // Φ⁻¹(0.975), any table of the normal distribution
	near(t, "lower", lower[0], 1-2*z, 1e-12)
	near(t, "upper", upper[0], 1+2*z, 1e-12)
	for _, level := range []float64{0, 1, -1, 2, math.NaN()} {
		if _, _, err := p.Interval(level); !errors.Is(err, settings.ErrSetting) {
			t.Errorf("level %g: error %v", level, err)
		}
	}
	if s := (&Prediction{Latent: []float64{-1e-20, 4}}).LatentStd(); s[0] != 0 || s[1] != 2 {
		t.Errorf("latent std %v", s)
	}
}

func TestRegressionScores(t *testing.T) {
	p := &Prediction{Targets: []string{"y", "z"}, Mean: []float64{1, 10, 2, 20}, Variance: []float64{1, 4, 2, 9}}
	y := []float64{1.5, 12, 1, 14}
	s, err := Task{Outputs: pair()}.Score(p, denseOf(y, 2, 2))
	if err != nil {
		t.Fatal(err)
	}
	nll := 0.0
	for i := range y {
		nll += metric.GaussianNLL(p.Mean[i], p.Variance[i], y[i]) / 2
	}
	near(t, "NLL", s.NLL(), nll, 1e-15)
	for name, want := range map[string]float64{
		"RMSE y": math.Sqrt((0.25 + 1) / 2), "RMSE z": math.Sqrt((4. + 36) / 2),
		"CRPS z": (metric.GaussianCRPS(10, 4, 12) + metric.GaussianCRPS(20, 9, 14)) / 2,
	} {
		got, ok := s.Get(name)
		if near(t, name, got, want, 1e-14); !ok {
			t.Errorf("no score %s in %+v", name, s)
		}
	}
	if _, ok := s.Get("RMSE"); ok || s.N != 2 || s.Coverage != nil {
		t.Errorf("scores %+v", s)
	}
	// One target has the same scores under their plain names, and its coverage.
	one := &Regression{Names: []string{"z"}, NoiseVariance: 1}
	o, err := Task{Outputs: one}.Score(&Prediction{Targets: one.Names, Mean: []float64{10, 20}, Variance: []float64{4, 9}}, denseOf([]float64{12, 14}, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	a, _ := o.Get("CRPS")
	b, _ := s.Get("CRPS z")
	near(t, "CRPS", a, b, 1e-15)
	// The targets lie 1 and 2 standard deviations off: inside of the intervals of 0.7 and more, and of none.
	if !slices.Equal(o.Coverage, []float64{0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5}) {
		t.Errorf("coverage %v", o.Coverage)
	}
	_, err = Task{Outputs: pair()}.Score(p, denseOf([]float64{1, 2}, 1, 2))
	oneLine(t, err, "2 means")
}

func TestClassScores(t *testing.T) {
	p := &Prediction{Classes: three().Classes, Probs: []float64{0.2, 0.5, 0.3, 0.1, 0.1, 0.8}}
	s, err := Task{Outputs: three()}.Score(p, denseOf([]float64{0.5, -1}, 2, 1))
	if err != nil {
		t.Fatal(err)
	}
	acc, _ := s.Get("ACC")
	brier, _ := s.Get("Brier")
	near(t, "ACC", acc, 0.5, 0)
	near(t, "NLL", s.NLL(), -(math.Log(0.5)+math.Log(0.1))/2, 1e-15)
	near(t, "Brier", brier, (0.04+0.25+0.09+0.81+0.01+0.64)/2, 1e-14)
	if s.N != 2 || len(s.List) != 4 || s.Coverage != nil {
		t.Errorf("scores %+v", s)
	}
	_, err = Task{Outputs: three()}.Score(&Prediction{Classes: p.Classes, Probs: []float64{0.2, 0.5, 0.4}}, denseOf([]float64{4}, 1, 1))
	oneLine(t, err, "sum to")
}

func TestScoresJSON(t *testing.T) {
	for want, s := range map[string]Scores{
		`{"nll":0.5,"rmse_y":2} {"standard_errors":{"nll":0.1,"rmse_y":null}}`: {N: 3,
			List: []Score{{Name: "NLL", Value: 0.5, StandardError: 0.1}, {Name: "RMSE y", Value: 2, StandardError: math.NaN()}}, Coverage: []float64{1}},
		`{} {"standard_errors":{}}`:                                     {},
		`{"nll":null} {"acc":null,"standard_errors":{"acc":0,"nll":0}}`: {List: []Score{{Name: "NLL", Value: math.Inf(1)}}, More: []Score{{Name: "ACC", Value: math.NaN()}}},
		`{"rmse_\"A\" \u003c b":1} {"pit_a":[1],"pit_b":[2],"standard_errors":{"rmse_\"A\" \u003c b":0}}`: {
			List: []Score{{Name: `RMSE "A" < b`, Value: 1}}, PIT: [][]float64{{1}, {2}}, targets: []string{"a", "b"}},
	} {
		got, err := json.Marshal(s)
		details, err2 := json.Marshal(s.Details())
		if text := string(got) + " " + string(details); err != nil || err2 != nil || text != want {
			t.Errorf("%s, want %s, errors %v and %v", text, want, err, err2)
		}
	}
	if v, ok := (Scores{}).Get("NLL"); ok || v != 0 {
		t.Errorf("a score %g of none", v)
	}
}

func TestTask(t *testing.T) {
	set := &data.Set{Features: []string{"a"}, Targets: []string{"y", "z"}, X: denseOf([]float64{1, 2}, 2, 1), Y: denseOf([]float64{10, -1, 14, 0}, 2, 2)}
	task := Task{Inputs: Inputs{Features: []string{"a"}, Shape: []int{1}, Mean: []float64{1}, Std: []float64{0.5}}, Outputs: pair()}
	if err := task.Check(); err != nil {
		t.Fatal(err)
	}
	e, err := task.Examples(set, tensor.Float32)
	if err != nil || !slices.Equal(e.X.Float32s(), []float32{0, 2}) || !slices.Equal(e.Y.Float32s(), []float32{0, 0, 1, 2}) || e.N() != 2 {
		t.Errorf("examples %v, %v, error %v", e.X, e.Y, err)
	}
	other := *set
	other.Targets = []string{"z", "y"}
	_, err = task.Examples(&other, tensor.Float32)
	oneLine(t, err, `expected the targets ["y" "z"], found ["z" "y"]`)
	other = *set
	other.Features = nil
	_, err = task.Examples(&other, tensor.Float32)
	oneLine(t, err, `expected the features ["a"], found []`)
	other = *set
	other.X = denseOf([]float64{1, math.NaN()}, 2, 1)
	if e, err := task.Examples(&other, tensor.Float32); err == nil || e.X != nil {
		t.Errorf("examples %+v, error %v", e, err)
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprint("c", i)
	}
	other.Features = many
	err = task.CheckSet(&other)
	if oneLine(t, err, `"c19"] and 10 more`); len(err.Error()) > 300 {
		t.Errorf("a message of %d characters", len(err.Error()))
	}
	for want, bad := range map[string]Task{
		"no outputs": {Inputs: task.Inputs},
		"inputs of":  {Outputs: pair()},
		`"y" stands twice among the features and targets`: {Inputs: Inputs{Features: []string{"y"}, Shape: []int{1}}, Outputs: pair()},
		`"a" stands twice`: {Inputs: Inputs{Features: []string{"a", "a"}, Shape: []int{2}}, Outputs: pair()},
		"noise variance":   {Inputs: task.Inputs, Outputs: &Regression{Names: []string{"y"}}},
	} {
		oneLine(t, bad.Check(), want)
	}
}

// A task goes through JSON, as it does in the file of a model.
func TestTaskInJSON(t *testing.T) {
	r, c, in := pair(), three(), Inputs{Shape: []int{1, 2, 2}, Mean: []float64{1}, Std: []float64{2}}
	for _, v := range []struct{ from, to any }{{r, &Regression{}}, {c, &Classification{}}, {&in, &Inputs{}}} {
		text, err := json.Marshal(v.from)
		if err == nil {
			err = json.Unmarshal(text, v.to)
		}
		if err != nil || fmt.Sprint(v.from) != fmt.Sprint(v.to) {
			t.Errorf("%+v became %+v, error %v", v.from, v.to, err)
		}
	}
}

// TestConformal: intervals and sets of a calibrated prediction, on numbers worked out by hand.
func TestConformal(t *testing.T) {
	p := &Prediction{
		Targets: []string{"y", "z"}, Mean: []float64{1, 2, 3, 4}, Variance: []float64{4, 1, 16, 9},
		Conformal: &calibrate.Conformal{Rows: 3, Scores: []float64{1, 2, 3, 0.5, 1, 1.5}},
	}
	lower, upper, err := p.Interval(0.5) // the second score of each target
	if err != nil || !slices.Equal(lower, []float64{-3, 1, -5, 1}) || !slices.Equal(upper, []float64{5, 3, 11, 7}) {
		t.Errorf("bounds %v and %v, error %v", lower, upper, err)
	}
	if n, _, err := p.Covered([]float64{5, 4, -5, 0}, 0.5); err != nil || n != 2 {
		t.Errorf("%g covered, error %v", n, err)
	}
	if _, _, err := p.Interval(0.8); !errors.Is(err, settings.ErrSetting) {
		t.Errorf("too few rows: %v", err)
	}
	c := &Prediction{
		Targets: []string{"y"}, Classes: []float64{0, 1, 2}, Labels: []string{"a", "b", "c"},
		Probs:     []float64{0.5, 0.5, 0, 0.25, 0.25, 0.5, 0.375, 0.375, 0.25, 0.125, 0.875, 0},
		Conformal: &calibrate.Conformal{Link: "probit", Rows: 3, Scores: []float64{0.125, 0.5, 0.75}},
	}
	for level, want := range map[float64][]string{0.25: {"", "", "", "b"}, 0.5: {"a|b", "c", "", "b"}, 0.75: {"a|b", "a|b|c", "a|b|c", "b"}} {
		if sets, err := c.Sets(level); err != nil || !slices.Equal(c.SetNames(sets), want) {
			t.Errorf("level %g: sets %v, error %v, want %q", level, sets, err, want)
		}
	}
	if n, size, err := c.Covered([]float64{1, 1, 0, 1}, 0.5); err != nil || n != 2 || size != 1 {
		t.Errorf("%g covered by sets of %g classes, error %v", n, size, err)
	}
	for _, none := range []*Prediction{p, {Targets: c.Targets, Classes: c.Classes, Probs: c.Probs}} {
		if _, err := none.Sets(0.5); !errors.Is(err, settings.ErrSetting) {
			t.Errorf("sets without a calibration of classes: %v", err)
		}
	}
}

// predicted returns what Fill makes of a distribution.
func predicted(ctx context.Context, o Outputs, g gp.Gaussian, noise float64, opts PredictOptions) (*Prediction, error) {
	p := new(Prediction)
	if err := o.fill(ctx, g, Observation{NoiseVariance: noise}, opts, p); err != nil {
		return nil, err
	}
	return p, nil
}
