package compare

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
)

// names returns the names of the results, sorted.
func (c *Comparison) names() (out []string) {
	for _, r := range c.Results {
		out = append(out, r.Name)
	}
	slices.Sort(out)
	return out
}

// get returns the result of a name.
func (c *Comparison) get(t *testing.T, name string) Result {
	t.Helper()
	i := slices.IndexFunc(c.Results, func(r Result) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("no result of %s in %v, left out: %v", name, c.names(), c.LeftOut)
	}
	return c.Results[i]
}

func run(t *testing.T, m *valla.Model, set *data.Set, o Options) *Comparison {
	t.Helper()
	c, err := Run(t.Context(), m, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCompare: on rows of their own the results equal the results of fits and calibrations by hand.
func TestCompare(t *testing.T) {
	m, set := trained(t)
	held := small.Wave(120, 7)
	var reported []string
	c := run(t, m, set, Options{
		Methods: []string{"temperature", "conformal", "lla-kfac", "lla-last-layer", "sfr"}, Held: held, Folds: 1, Seed: 5,
		OnProgress: func(name string, _ train.Progress) { reported = append(reported, name) },
	})
	if got := strings.Join(c.names(), " "); got != "conformal lla-kfac lla-last-layer map sfr temperature" || c.Rows != 60 || c.Train != 200 || c.Folds != 1 || c.Seen {
		t.Fatalf("results %s, left out %v, %+v", got, c.LeftOut, c)
	}
	if !slices.Contains(reported, "LLA KFAC") || slices.Contains(reported, "MAP") {
		t.Errorf("progress of %v", slices.Compact(reported))
	}
	choose, judge := holdout.Halves(held, 5)
	kfac := fit(t, m, set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}, Held: choose})
	for name, m := range map[string]*valla.Model{"map": m, "temperature": calibrated(t, m, choose, valla.CalibrateTemperature), "conformal": calibrated(t, m, choose, valla.CalibrateConformal), "lla-kfac": kfac} {
		r := c.get(t, name)
		want, err := m.Evaluate(t.Context(), judge, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fixture.Near(t, name+": NLL", r.NLL, want.NLL(), 1e-9)
		p, err := m.Predict(t.Context(), judge.X, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		inside, _, err := p.Covered(judge.Y.Float64s(), 0.95)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Near(t, name+": coverage", *r.Coverage, float64(inside)/60, 1e-12)
		if crps, _ := r.Scores.Get("CRPS"); !(crps > 0) || !(*r.Width > 0) || !(r.MicrosPerRow > 0) || r.Label != m.String() || (r.FitBytes > 0) != (name == "lla-kfac") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	best := c.Results[0]
	for _, r := range c.Results {
		fixture.Near(t, "behind", r.Behind, r.NLL-best.NLL, 1e-9)
	}
	if c.get(t, "lla-kfac").Settings != "method=lla structure=kfac" || !strings.HasPrefix(c.Advice, "Take ") || c.Recommended == "" {
		t.Errorf("advice %q, recommended %q", c.Advice, c.Recommended)
	}
}

// TestRivals: the network with a law of its residuals, and the networks that its training makes, equal those made by hand. A
// network from elsewhere has none of these, with the reason.
func TestRivals(t *testing.T) {
	m, set := trained(t)
	held := small.Wave(120, 7)
	c := run(t, m, set, Options{Methods: []string{"law", "deep-ensemble", "mean-variance", "quantiles"}, Held: held, Folds: 1, Seed: 5})
	choose, judge := holdout.Halves(held, 5)
	o := quickTrain()
	o.Training.Networks = ensembleSize
	deep, err := valla.Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	o = quickTrain()
	o.NoiseHead = task.LogVariance
	noisy, err := valla.Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	for name, by := range map[string]*valla.Model{"law": calibrated(t, m, choose, valla.CalibrateLaw), "deep-ensemble": deep, "mean-variance": noisy} {
		want, err := by.Evaluate(t.Context(), judge, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fixture.Near(t, name+": NLL", c.get(t, name).NLL, want.NLL(), 1e-9)
	}
	if r := c.get(t, "deep-ensemble"); r.Label != "deep ensemble of 5" || !(r.FitSeconds > 0) || r.Settings != "networks=5" {
		t.Errorf("%+v", r)
	}
	q, err := m.Quantiles(t.Context(), set, 0.95, nil)
	if err == nil {
		q, err = q.Conform(t.Context(), choose)
	}
	if err != nil {
		t.Fatal(err)
	}
	lower, upper, err := q.Intervals(t.Context(), judge.X)
	if err != nil {
		t.Fatal(err)
	}
	var want spans
	want.add(0.95, lower, upper, judge.Y.Float64s())
	if i := c.Intervals; i == nil || !slices.Equal(i.spans.scores, want.scores) || i.Score != kernel.Mean(want.scores) || i.Coverage != kernel.Mean(want.inside) || !(i.FitSeconds > 0) || i.Narrower == 0 {
		t.Errorf("intervals %+v", c.Intervals)
	}
	elsewhere := *m
	elsewhere.History = []valla.Event{{Action: valla.ActionWeights}}
	c = run(t, &elsewhere, set, Options{Methods: []string{"deep-ensemble", "mean-variance", "quantiles"}, Held: held})
	for _, l := range c.LeftOut {
		if !strings.Contains(l.Reason, "the history does not tell how the network was trained") {
			t.Errorf("left out %+v", l)
		}
	}
	if len(c.LeftOut) != 3 || c.Intervals != nil {
		t.Errorf("left out %+v, intervals %+v", c.LeftOut, c.Intervals)
	}
	c = run(t, noisy, set, Options{Methods: []string{"mean-variance", "deep-ensemble"}, Held: held})
	if len(c.LeftOut) != 2 || c.LeftOut[0].Reason != "the network itself tells the noise of each row" || !strings.Contains(c.LeftOut[1].Reason, "cannot be a member of an ensemble") {
		t.Errorf("left out %+v", c.LeftOut)
	}
}

// TestIntervals: intervals without a likelihood are in the advice only where they hold their level and are narrower by more than
// two standard errors.
func TestIntervals(t *testing.T) {
	var wide, narrow spans
	for i := range 100 {
		y, by := float64(i), 0.1*float64(i%2)
		wide.add(0.95, []float64{y - 2}, []float64{y + 2}, []float64{y})
		narrow.add(0.95, []float64{y - 1}, []float64{y + 1 + by}, []float64{y})
	}
	if got := wide.scores[0]; got != 4 {
		t.Errorf("interval score %g, want the width 4", got)
	}
	var outside spans
	if outside.add(0.95, []float64{0}, []float64{1}, []float64{1.5}); math.Abs(outside.scores[0]-21) > 1e-9 || outside.inside[0] != 0 {
		t.Errorf("interval score %g of %g inside, want 1 + 40·0.5 of 0", outside.scores[0], outside.inside[0])
	}
	const sentence = " If only intervals matter: those of a quantile network hold 96.0 % and are narrower than those of the network alone by 1.95 ± 0.005 in the mean."
	for want, q := range map[string]Intervals{
		sentence: {Coverage: 0.96, spans: narrow},
		"":       {Coverage: 0.89, spans: narrow}, // 89 of 100 rows are too few, see TestEnoughInside
		" ":      {Coverage: 0.96, spans: wide},
	} {
		q.Label = "quantile network"
		c := Comparison{Results: []Result{{Name: "map", nlls: make([]float64, 100), spans: wide}}, Intervals: &q, Rows: 100, Level: 0.95}
		if c.conclude(); c.Advice != "Take the network alone: nothing else has finished."+strings.TrimSuffix(want, " ") {
			t.Errorf("advice %q, want %q in it", c.Advice, want)
		}
	}
}

// TestCompareFolds: each row that the training has held out judges once, and its fold has chosen
// nothing by it; classes have a vector, and sets.
func TestCompareFolds(t *testing.T) {
	o := quickTrain()
	o.Classes, o.Seed, o.Training.Validation = true, 3, new(0.2)
	set := small.Thirds(300, 1)
	m, err := valla.Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	c := run(t, m, set, Options{Methods: []string{"map", "temperature", "vector", "conformal"}, Folds: 3})
	if c.Rows != 60 || c.Train != 240 || c.Folds != 3 || c.Seen || len(c.Results)+len(c.LeftOut) != 4 {
		t.Fatalf("%+v", c)
	}
	_, held, err := holdout.Split(set, 0.2, 3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Evaluate(t.Context(), held, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fixture.Near(t, "NLL of the network", c.get(t, "map").NLL, want.NLL(), 1e-9)
	sets := c.get(t, "conformal")
	if c.get(t, "map").Coverage != nil || sets.Coverage == nil || !(*sets.Coverage > 0.8) || !(*sets.Width >= 0.8 && *sets.Width <= 3) {
		t.Errorf("sets %+v", sets)
	}
	one, err := newContest(t.Context(), m, set, Options{Folds: 4})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]int{}
	for _, f := range one.folds {
		if f.choose.N() != 45 || f.judge.N() != 15 {
			t.Errorf("%d rows choose and %d judge", f.choose.N(), f.judge.N())
		}
		for i := range 15 {
			x := f.judge.X.Float64s()[2*i]
			seen[x]++
			if slices.Contains(f.choose.X.Float64s(), x) {
				t.Errorf("a row chooses for itself")
			}
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d of 60 rows judge", len(seen))
	}
	if c := run(t, m, small.Thirds(100, 2), Options{Methods: []string{"map"}}); !c.Seen || c.Rows != 10 || !strings.Contains(c.Advice, "may have been trained on") {
		t.Errorf("of another table: %+v", c)
	}
}

// TestCompareLeavesOut: what fails, or takes too much, is in the list with the reason, and the
// others are compared.
func TestCompareLeavesOut(t *testing.T) {
	m, set := trained(t)
	why := func(c *Comparison) map[string]string {
		out := map[string]string{}
		for _, l := range c.LeftOut {
			out[l.Name] = l.Reason
		}
		return out
	}
	c := run(t, m, set, Options{Methods: []string{"conformal", "valla", "lla", "sfr"}, Memory: 1000})
	left := why(c)
	for name, want := range map[string]string{"conformal": "needs a conformal calibration with 19 rows", "lla": "more than the limit of 1000 bytes", "sfr": "more than the limit of"} {
		if !strings.Contains(left[name], want) || strings.Contains(left[name], "\n") {
			t.Errorf("%s was left out because %q, want %q", name, left[name], want)
		}
	}
	if len(c.Results) == 0 || c.Recommended != "map" {
		t.Errorf("results %v, recommended %q, left out %v", c.names(), c.Recommended, left)
	}
	c = run(t, m, set, Options{Budget: time.Nanosecond})
	if left := why(c); len(c.Results) != 0 || left["map"] != "nothing was left of the budget" || c.Advice != "Nothing has finished." {
		t.Errorf("without time: %+v", c)
	}
	ctx, stop := context.WithCancel(t.Context())
	c, err := Run(ctx, m, set, Options{Methods: []string{"temperature", "fmgp"}, OnProgress: func(string, train.Progress) { stop() }})
	if !errors.Is(err, context.Canceled) || c == nil || len(c.Results) != 2 || why(c)["fmgp"] != "interrupted" || c.Recommended == "" {
		t.Errorf("interrupted: %+v, error %v", c, err)
	}
	for want, o := range map[string]Options{
		`contender "map2", expected one of map, temperature, vector, law, conformal, deep-ensemble, mean-variance, quantiles, valla, lla, lla-kfac`: {Methods: []string{"map2"}},
		`contender "lla" stands twice`: {Methods: []string{"lla", "lla"}},
		"expected none below 0":        {Budget: -1},
		"level 1, expected":            {Level: 1},
	} {
		_, err := Run(t.Context(), m, set, o)
		if fixture.OneLine(t, err, "compare: ", want); !errors.Is(err, settings.ErrSetting) {
			t.Errorf("%v is no error of settings", err)
		}
	}
	_, err = Run(t.Context(), m, set, Options{Held: small.Wave(3, 1), Folds: 2})
	fixture.OneLine(t, err, "3 rows held out in 2 folds, expected at least two for each")
}

// TestAdvice: what loses little for sure is told by simplicity, then by much less time; the default is the choice where rows do not tell.
func TestAdvice(t *testing.T) {
	result := func(name string, simpler int, took, nll, scatter float64) Result {
		r := Result{Name: name, Label: strings.ToUpper(name), simpler: simpler, FitSeconds: took, FitCPU: took, NLL: nll}
		for i := range 100 { // differences between results have the standard error scatter/10, about
			r.nlls = append(r.nlls, nll+scatter*math.Sqrt2*math.Sin(float64(i)*math.Pi/2+math.Pi/4))
		}
		return r
	}
	alone, tempered := result("map", 0, 0, 1.3, 0), result("temperature", 1, 0, 1.1, 0)
	for name, v := range map[string]struct {
		results []Result
		take    string
		text    string
	}{
		"one":         {[]Result{alone}, "map", "Take the network alone: nothing else has finished."},
		"temperature": {[]Result{alone, tempered, result("lla", fitted, 20, 1.09, 0.01)}, "temperature", "Take temperature scaling: it does as well as LLA, whose NLL is smaller by 0.01 ± 0.001, in less than 0.1 s instead of 20 s."},
		"few rows":    {[]Result{alone, tempered, result("lla", fitted, 20, 1.09, 1)}, "lla", "Take LLA: its NLL is smaller than that of temperature scaling by 0.01 ± 0.1."},
		"default":     {[]Result{alone, result("valla", fitted, 20, 1.2, 0), result("lla", fitted, 20, 1.09, 1)}, "valla", "Take VALLA: it does as well as LLA, whose NLL is smaller by 0.11 ± 0."},
		"another":     {[]Result{alone, result("valla", fitted, 20, 1.09, 0.1), result("lla", fitted, 20, 1, 0.1)}, "lla", "Take LLA: its NLL is smaller"},
		"better":      {[]Result{alone, tempered, result("lla", fitted, 20, 1, 0.1)}, "lla", "Take LLA: its NLL is smaller than that of temperature scaling by 0.1 ± 0.01."},
		"alone":       {[]Result{result("map", 0, 0, 1.1, 0), result("temperature", 1, 0, 1.2, 0), result("lla", fitted, 1, 1.09, 0.01)}, "map", "the network alone: it does as well as LLA"},
		"cheap":       {[]Result{alone, result("fmgp", fitted, 80, 0.95, 0), result("lla", fitted, 2, 0.96, 0.01)}, "lla", "Take LLA: it does as well as FMGP"},
		"hardly":      {[]Result{alone, result("fmgp", fitted, 7, 0.95, 0), result("lla", fitted, 2, 0.96, 0.01)}, "fmgp", "Take FMGP: its NLL is smaller than that of the network alone by 0.35"},
	} {
		c := Comparison{Results: v.results, Rows: 100, Level: 0.95}
		if c.conclude(); c.Recommended != v.take || !strings.Contains(c.Advice, v.text) {
			t.Errorf("%s: %q, want %q and %q", name, c.Advice, v.take, v.text)
		}
	}
	narrow := tempered
	narrow.Coverage = new(0.9)
	c := Comparison{Results: []Result{narrow, result("lla", fitted, 20, 1.09, 0.01)}, Rows: 1000, Level: 0.95}
	if c.conclude(); c.Recommended != "lla" || !strings.Contains(c.Advice, "temperature scaling by 0.01 ± 0.001, whose 95 % intervals hold 90.0 %.") {
		t.Errorf("intervals that do not hold: %q", c.Advice)
	}
}

// TestPeak: at least what f holds in the end, and what others held does not count.
func TestPeak(t *testing.T) {
	before := make([]float64, 1<<20)
	var held []float64
	if got := costOf(func() { held = make([]float64, 1<<18) }).bytes; got < 1<<21 || got > 1<<22 {
		t.Errorf("%d bytes of %d", got, 8*len(held))
	}
	_ = before[0]
}

// TestShift: the outer rows judge a network that was trained on the others as the network was, and fits to the same rows.
func TestShift(t *testing.T) {
	m, set := trained(t)
	inner, outer, err := holdout.Outer(set, outerShare)
	if err != nil {
		t.Fatal(err)
	}
	again, err := valla.Train(t.Context(), inner, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	out, err := Run(t.Context(), m, set, Options{Shift: true, Methods: []string{"temperature", "lla-last-layer"}})
	if err != nil {
		t.Fatal(err)
	}
	_, held, err := holdout.Split(inner, 0.1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if out.Rows != outer.N() || out.Train != inner.N()-held.N() || out.Folds != 1 || out.Seen || !out.Shift || len(out.Results) != 3 {
		t.Errorf("%+v", out)
	}
	for _, r := range out.Results {
		want := again
		switch r.Name {
		case "temperature":
			want = calibrated(t, again, held, "temperature")
		case "lla-last-layer":
			want = fit(t, again, inner, valla.FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}})
		}
		s, err := want.Evaluate(t.Context(), outer, valla.PredictOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fixture.Near(t, "NLL of "+r.Name, r.NLL, s.NLL(), 1e-9)
	}
	elsewhere := *m
	elsewhere.History = []valla.Event{{Action: valla.ActionWeights}}
	_, err = Run(t.Context(), &elsewhere, set, Options{Shift: true})
	fixture.OneLine(t, err, "does not tell how the network was trained")
	_, err = Run(t.Context(), m, set, Options{Shift: true, Held: set})
	fixture.OneLine(t, err, "outer rows judge, or held-out rows")
}

// TestEnsemble: the rivals of an ensemble are trained as its networks were, one by one, and the outer rows judge an ensemble of
// as many networks.
func TestEnsemble(t *testing.T) {
	set, o := small.Wave(200, 1), quickTrain()
	train := func(set *data.Set, networks int, head task.ScaleOf) *valla.Model {
		o.Training.Networks, o.NoiseHead = networks, head
		m, err := valla.Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m, held := train(set, 3, ""), small.Wave(120, 7)
	c := run(t, m, set, Options{Methods: []string{"deep-ensemble", "mean-variance", "quantiles"}, Held: held, Folds: 1, Seed: 5})
	_, judge := holdout.Halves(held, 5)
	for name, by := range map[string]*valla.Model{"map": m, "deep-ensemble": train(set, ensembleSize, ""), "mean-variance": train(set, 1, task.LogVariance)} {
		nearNLL(t, c.get(t, name), by, judge)
	}
	if c.Intervals == nil {
		t.Errorf("no intervals, left out %v", c.LeftOut)
	}
	inner, outer, err := holdout.Outer(set, outerShare)
	if err != nil {
		t.Fatal(err)
	}
	c = run(t, m, set, Options{Shift: true, Methods: []string{"deep-ensemble", "lla-last-layer"}})
	again := train(inner, 3, "")
	for name, by := range map[string]*valla.Model{
		"map": again, "deep-ensemble": train(inner, ensembleSize, ""),
		"lla-last-layer": fit(t, again, inner, valla.FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}}),
	} {
		nearNLL(t, c.get(t, name), by, outer)
	}
}

// nearNLL compares the NLL of a result with that of a model on the rows that judge.
func nearNLL(t *testing.T, r Result, m *valla.Model, judge *data.Set) {
	t.Helper()
	want, err := m.Evaluate(t.Context(), judge, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fixture.Near(t, r.Name+": NLL", r.NLL, want.NLL(), 1e-9)
}

// TestTrainedAgain: a rival whose training is done keeps the cost of the training.
func TestTrainedAgain(t *testing.T) {
	want := cost{bytes: 5, seconds: 6}
	c := contest{trainings: map[string]trainedAgain{"a": {took: want}}}
	if _, took, err := c.again(t.Context(), contender{name: "a"}); err != nil || took != want {
		t.Errorf("cost %+v, error %v, want %+v", took, err, want)
	}
}

// TestTrainedSeconds: a training takes as long as that of one network of an ensemble.
func TestTrainedSeconds(t *testing.T) {
	c := contest{m: &valla.Model{History: []valla.Event{{Action: valla.ActionTrain, Seconds: 5}, {Action: valla.ActionTrain, Seconds: 3}}}}
	if got := c.trained(); got != 4 {
		t.Errorf("%g seconds, want 4", got)
	}
	if got := (&contest{m: &valla.Model{}}).trained(); got != 0 {
		t.Errorf("%g seconds without a training, want 0", got)
	}
}
