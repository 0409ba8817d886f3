package valla

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/figure"
)

// asking returns a model with error bars, the rule for the rows of a calibration, and other rows.
func asking(t *testing.T, rows func(n int, seed uint64) *data.Set, o CalibrateOptions) (*Model, *data.Set) {
	t.Helper()
	train := quickTrain()
	set := rows(400, 1)
	train.Classes = len(slices.Compact(slices.Sorted(slices.Values(set.Y.Float64s())))) < 10
	m, err := Train(t.Context(), set, train)
	if err != nil {
		t.Fatal(err)
	}
	m = fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Law: "gaussian"})
	o.Method = CalibrateAbstain
	m, err = m.Calibrate(t.Context(), rows(1000, 2), o)
	if err != nil {
		t.Fatal(err)
	}
	return m, rows(300, 3)
}

// TestAbstainLink: a rule that was chosen with one link is refused with another.
func TestAbstainLink(t *testing.T) {
	m, set := asking(t, thirds, CalibrateOptions{Risk: 0.1, By: calibrate.ByProbability, PredictOptions: PredictOptions{Link: MonteCarlo}})
	_, err := m.Predict(t.Context(), set.X, PredictOptions{})
	oneLine(t, err, `the link is "probit", but the rule for rows that need a look was chosen with "mc"`)
	if _, err = m.Predict(t.Context(), set.X, PredictOptions{Link: MonteCarlo}); err != nil {
		t.Error(err)
	}
}

// TestAbstain: the rule comes back from a file, in a Predictor and in an export; marked rows are those that break it, and a rule
// that is given counts instead.
func TestAbstain(t *testing.T) {
	for name, c := range map[string]struct {
		rows func(n int, seed uint64) *data.Set
		o    CalibrateOptions
	}{
		"width":       {wave, CalibrateOptions{Risk: 0.1, Tolerance: 0.7, By: calibrate.ByWidth}},
		"unfamiliar":  {wave, CalibrateOptions{Risk: 0.1, Tolerance: 0.7, By: calibrate.ByUnfamiliar}},
		"probability": {thirds, CalibrateOptions{Risk: 0.05, By: calibrate.ByProbability}},
		"classes":     {thirds, CalibrateOptions{Risk: 0.2, By: calibrate.ByUnfamiliar}},
		"auto":        {thirds, CalibrateOptions{Risk: 0.05}},
	} {
		m, set := asking(t, c.rows, c.o)
		m = loaded(t, written(t, m))
		a := m.Calibration.Abstain
		if a == nil || a.Rows != 1000 || a.Accepted < 100 || c.o.By != "" && a.By != c.o.By {
			t.Fatalf("%s: rule %+v", name, a)
		}
		p := predict(t, m, set.X)
		asked, err := p.Abstains()
		doubts, errs := p.Doubts(a.By, a.Level)
		if err != nil || errs != nil || len(asked) != set.N() || len(p.Unfamiliar) != set.N() {
			t.Fatal(err, errs)
		}
		for i, v := range asked {
			if v != (doubts[i] > a.Most) {
				t.Errorf("%s: row %d with the doubt %g is marked: %t", name, i, doubts[i], v)
			}
		}
		q, err := m.Predictor(PredictorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var one Prediction
		if err := q.Predict(t.Context(), set.X.Float64s(), &one); err != nil || !slices.Equal(one.Unfamiliar, p.Unfamiliar) || one.Abstain != a {
			t.Errorf("%s: the predictor differs, error %v", name, err)
		}
		e := checkExported(t, m, ExportOptions{})
		if out := e.Outputs[len(e.Outputs)-1]; out.Name != "abstain" || !slices.Equal(out.Shape, []int{1}) {
			t.Errorf("%s: the last output is %+v", name, out)
		}
		p, err = m.Predict(t.Context(), set.X, PredictOptions{Abstain: &calibrate.Abstain{By: calibrate.ByUnfamiliar, Most: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if asked, err := p.Abstains(); err != nil || slices.Contains(asked, true) {
			t.Errorf("%s: a rule that accepts all rows marks some, error %v", name, err)
		}
	}
}

// TestUnfamiliar: the training rows are spread evenly from 0 to 1, rows far away are at 1, and a temperature changes nothing.
func TestUnfamiliar(t *testing.T) {
	m, set := trained(t)
	if p := predict(t, m, set.X); len(p.Unfamiliar) != 0 {
		t.Error("a network alone knows familiar rows")
	}
	m = fit(t, m, set, FitOptions{Settings: &laplace.Settings{}, Law: "gaussian", Validation: new(0.0)})
	p := predict(t, m, set.X)
	v := slices.Sorted(slices.Values(p.Unfamiliar))
	for i, u := range v {
		if math.Abs(u-float64(i)/float64(len(v)-1)) > 0.02 {
			t.Fatalf("place %d of %d has %g", i, len(v), u)
		}
	}
	if far := predict(t, m, denseOf([]float64{40, 900}, 1, 2)); far.Unfamiliar[0] != 1 {
		t.Errorf("a row far away has %g", far.Unfamiliar[0])
	}
	c, err := m.Calibrate(t.Context(), wave(100, 5), CalibrateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, u := range predict(t, c, set.X).Unfamiliar {
		if math.Abs(u-p.Unfamiliar[i]) > 1e-9 {
			t.Fatalf("row %d has %g with a temperature, and %g without one", i, u, p.Unfamiliar[i])
		}
	}
	for _, share := range []float64{0, 0.3, 0.555, 0.99} {
		near(t, "share below", shareBelow(m.spreads(), spreadAt(m.spreads(), share)), share, 1e-9)
	}
}

// TestAbstainRisk: the risk holds on fresh rows in at least 95 of 100 tables of 1,000 rows that choose the rule.
// With -update the test draws the picture of docs/abstain.md.
func TestAbstainRisk(t *testing.T) {
	var charts []figure.Chart
	for _, c := range []struct {
		name  string
		rows  func(n int, seed uint64) *data.Set
		kinds []string
		o     CalibrateOptions
	}{
		{"numbers", wave, []string{calibrate.ByWidth, calibrate.ByUnfamiliar}, CalibrateOptions{Risk: 0.05, Confidence: 0.95, Level: 0.95, Tolerance: 0.7}},
		{"classes", thirds, []string{calibrate.ByProbability, calibrate.ByUnfamiliar}, CalibrateOptions{Risk: 0.03, Confidence: 0.95, Level: 0.95}},
	} {
		name, rules := c.name, figure.Series{Name: "100 rules, each chosen by 1,000 rows"}
		m, _ := asking(t, c.rows, c.o)
		const pool, chosen = 20_000, 1000
		set := c.rows(pool, 9)
		p := predict(t, m, set.X)
		wrong, err := mistakes(p, set.Y.Float64s(), c.o)
		if err != nil {
			t.Fatal(err)
		}
		broken, accepted := 0, 0
		for seed := range uint64(100) {
			order := rand.New(rand.NewPCG(seed, 4)).Perm(pool)
			some, marks := taken(p, order[:chosen]), make([]bool, chosen)
			some.Unfamiliar = of(p.Unfamiliar, order[:chosen])
			for i, row := range order[:chosen] {
				marks[i] = wrong[row]
			}
			a, err := chooseAbstain(some, marks, c.o)
			if err != nil {
				continue // nothing is promised
			}
			fresh := taken(p, order[chosen:])
			fresh.Unfamiliar, fresh.Abstain = of(p.Unfamiliar, order[chosen:]), a
			asked, err := fresh.Abstains()
			if err != nil {
				t.Fatal(err)
			}
			bad, n := 0, 0
			for i, v := range asked {
				if !v {
					n++
					if wrong[order[chosen+i]] {
						bad++
					}
				}
			}
			accepted += n
			rules.X, rules.Y = append(rules.X, 100*float64(n)/float64(len(asked))), append(rules.Y, 100*float64(bad)/float64(n))
			if float64(bad) > c.o.Risk*float64(n) {
				broken++
			}
		}
		t.Logf("%s: %d of 100 tables break the risk %g; %.1f %% of the rows need no look", name, broken, c.o.Risk, float64(accepted)/float64(pool-chosen))
		if broken > 5 || accepted == 0 {
			t.Errorf("%s: %d of 100 tables break the risk, %d rows accepted", name, broken, accepted)
		}
		curves := []figure.Series{{Name: "promised risk", X: []float64{0, 100}, Y: []float64{100 * c.o.Risk, 100 * c.o.Risk}}}
		for _, by := range c.kinds {
			curves = append(curves, riskCurve(t, p, wrong, by))
		}
		charts = append(charts, figure.Cloud(figure.Axes{Title: name, X: "accepted rows, %", Y: "wrong among them, %", Zero: true}, rules, curves))
	}
	if *update {
		if err := figure.SavePNG("docs/abstain.png", charts...); err != nil {
			t.Fatal(err)
		}
	}
}

// riskCurve returns the share of wrong rows among those with the least doubt, in percent, against the share of these rows.
func riskCurve(t *testing.T, p *Prediction, wrong []bool, by string) figure.Series {
	t.Helper()
	doubts, err := p.Doubts(by, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	order := make([]int, len(doubts))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(doubts[a], doubts[b]) })
	s, bad, n := figure.Series{Name: "all rows, by " + by}, 0, len(order)
	for k, i := range order {
		if wrong[i] {
			bad++
		}
		if k >= n/50 && k%(n/200) == 0 { // the first rows are too few for a share
			s.X, s.Y = append(s.X, 100*float64(k+1)/float64(n)), append(s.Y, 100*float64(bad)/float64(k+1))
		}
	}
	return s
}

// TestAbstainErrors: risks that the rows cannot show, and rules that make no sense, are refused.
func TestAbstainErrors(t *testing.T) {
	m, set := trained(t)
	m = fit(t, m, set, FitOptions{Settings: &laplace.Settings{}})
	for want, o := range map[string]CalibrateOptions{
		"risk 0 with confidence":  {},
		"no share of the 50 rows": {Risk: 0.01},
		"probability for classes": {Risk: 0.3, By: calibrate.ByProbability},
	} {
		o.Method = CalibrateAbstain
		_, err := m.Calibrate(t.Context(), wave(50, 7), o)
		oneLine(t, err, want)
	}
	for _, kind := range []likelihood.Kind{likelihood.Binary, likelihood.Ordered} {
		oneLine(t, showsRisk(kind, 0), "hardly ever wrong")
	}
}
