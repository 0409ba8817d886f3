package assess

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/internal/audit"
)

// house is a table of n made rows: six inputs, and a target that depends on the first five of them, and on the last by leak. The
// row numbers begin with first.
func house(n, first int, leak float64, rng *rand.Rand) *data.Set {
	var x, y []float64
	order := rng.Perm(n)
	for i := range n {
		last := rng.NormFloat64()
		if leak != 0 {
			last = float64(first + order[i])
		}
		row := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64(), 50 + 10*rng.NormFloat64(), last}
		x = append(x, row...)
		y = append(y, 2*math.Sin(row[0])+row[1]+0.3*row[2]+0.5*row[3]-0.02*(row[4]-50)+leak*last+0.5*rng.NormFloat64())
	}
	return &data.Set{Features: []string{"a", "b", "c", "d", "e", "f"}, Targets: []string{"y"},
		X: tensor.New(tensor.WithShape(n, 6), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
}

// builder returns a model for such tables, trained and fitted to 2,000 rows.
func builder(t *testing.T, leak float64, structure string) *valla.Model {
	t.Helper()
	set := house(2000, 0, leak, rand.New(rand.NewPCG(1, 1)))
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{20}}, Training: valla.Training{Iterations: 1500}})
	if err == nil {
		m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Structure: structure}, Law: "gaussian"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// faulty are the faults that are planted into 2,000 rows, and the first finding that they should bring about.
var faulty = []struct {
	name, kind, columns string
	leak, narrow        float64 // slope of the id; factor of the noise that the model knows
	spoil               func(x, y []float64, rng *rand.Rand)
}{
	{"wrong labels in a slice", audit.SliceOff, "a", 0, 1, func(x, y []float64, rng *rand.Rand) {
		for i := range y {
			if x[6*i] > 0.8 {
				y[i] = 2 * rng.NormFloat64()
			}
		}
	}},
	{"a drifted column", audit.Drift, "d", 0, 1, func(x, _ []float64, _ *rand.Rand) { each(x, 3, func(v float64) float64 { return v + 0.8 }) }},
	{"another unit", audit.Unit, "e", 0, 1, func(x, _ []float64, _ *rand.Rand) { each(x, 4, func(v float64) float64 { return v / 2.54 }) }},
	{"narrow bars", audit.Narrow, "", 0, 0.7, func(_, _ []float64, _ *rand.Rand) {}},
	{"a leaking id", audit.Identifier, "f", 0.001, 1, func(_, _ []float64, _ *rand.Rand) {}},
	{"a copied block", audit.Duplicates, "", 0, 1, func(x, y []float64, _ *rand.Rand) {
		copy(x[6*1500:6*1600], x[6*300:6*400])
		copy(y[1500:1600], y[300:400])
	}},
	{"exchanged columns", audit.Exchanged, "b c", 0, 1, func(x, y []float64, _ *rand.Rand) {
		for i := range y {
			x[6*i+1], x[6*i+2] = x[6*i+2], x[6*i+1]
		}
	}},
	{"a constant column", audit.Constant, "b", 0, 1, func(x, _ []float64, _ *rand.Rand) { each(x, 1, func(float64) float64 { return 0 }) }},
	{"shifted targets", audit.Shift, "", 0, 1, func(_, y []float64, _ *rand.Rand) {
		for i := range y {
			y[i] += 0.4
		}
	}},
	{"heavy tails", audit.Tails, "", 0, 1, func(x, y []float64, rng *rand.Rand) {
		for i := range y {
			row := x[6*i:]
			mean := 2*math.Sin(row[0]) + row[1] + 0.3*row[2] + 0.5*row[3] - 0.02*(row[4]-50)
			y[i] = mean + 0.4*rng.NormFloat64()/math.Sqrt(rng.ExpFloat64())
		}
	}},
}

// each applies f to a column.
func each(x []float64, column int, f func(v float64) float64) {
	for i := column; i < len(x); i += 6 {
		x[i] = f(x[i])
	}
}

// examined returns what is found in rows.
func examined(t *testing.T, m *valla.Model, set *data.Set) *audit.Result {
	t.Helper()
	p, err := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	y := set.Y.Float64s()
	s := subject{m: m, set: set, is: candidate{p: p, y: y}, level: 0.95, x: set.X.Float64s()}
	if s.nlls, err = m.Task.NLLs(p, set.Y); err != nil {
		t.Fatal(err)
	}
	out, err := s.audited(t.Context(), valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestFaults: of ten planted faults the page names ten first, and it names none in ten tables without a fault, for a
// trained network with error bars. With VALLA_LONG=1 there are twenty tables of each kind.
func TestFaults(t *testing.T) {
	models := map[float64]*valla.Model{0: builder(t, 0, "kfac"), 0.001: builder(t, 0.001, "kfac")}
	tables := len(faulty)
	if os.Getenv("VALLA_LONG") != "" {
		tables *= 20
	}
	for k := range tables {
		f, rng := faulty[k%len(faulty)], rand.New(rand.NewPCG(uint64(k), 2))
		set := house(2000, 2000, f.leak, rng)
		f.spoil(set.X.Float64s(), set.Y.Float64s(), rng)
		m := models[f.leak]
		if f.narrow != 1 {
			c := *m
			c.Calibration = &valla.Calibration{Temperature: f.narrow}
			m = &c
		}
		found := examined(t, m, set).Findings
		if len(found) == 0 || found[0].Kind != f.kind || strings.Join(found[0].Columns, " ") != f.columns {
			t.Errorf("%s: found %+v", f.name, found)
		}
		if found := examined(t, models[0], house(2000, 0, 0, rng)).Findings; len(found) > 0 {
			t.Errorf("clean table %d: %+v", k, found)
		}
	}
}

// TestTinyBars: error bars that are a thousand times too small are too small, though the normal scores of most rows have no digits.
func TestTinyBars(t *testing.T) {
	m := *model(t, []string{"y"}, 0)
	m.Calibration = &valla.Calibration{Temperature: 0.001}
	kinds := map[string]bool{}
	for _, f := range examined(t, &m, sample(600, 2, []string{"y"}, 0)).Findings {
		kinds[f.Kind] = true
	}
	if !kinds[audit.Narrow] || kinds[audit.Wide] || kinds[audit.Tails] {
		t.Errorf("found %v", kinds)
	}
}

// TestRules: rules hold, fail or cannot be told, as the bounds say, and wrong ones are refused.
func TestRules(t *testing.T) {
	m, set := model(t, []string{"y"}, 0), sample(600, 2, []string{"y"}, 0)
	for text, want := range map[string]string{
		"coverage95>=0.5": Holds, "coverage95 >= 0.999": Fails, "coverage50<=0.9": Holds, "rmse<=100": Holds, "rmse<=0.01": Fails,
		"nll<=map": "", "nll<=scalar": "", "width90>=0": Holds, "worst_slice>=0.01": Holds, "worst_slice50<=0.01": Fails, "psi<=10": Holds, "findings<=100": Holds, "interval_score_95<=0": Fails, "crps>=0": Holds,
	} {
		rules, err := ParseRules([]string{text}, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		p, html := pageOf(t, m, set, Options{Rules: rules})
		j := p.Judged[0]
		if want != "" && j.Verdict != want || j.Value == nil || *j.Lower > *j.Value || *j.Upper < *j.Value || !strings.Contains(html, j.Verdict) {
			t.Errorf("%s: %s, %+v", text, j, j)
		}
	}
	for text, want := range map[string]string{"coverage95": "expected a rule such as", "coverage95>0.9": "expected a rule such as", "nll>=map": "only nll<=map", "rmse<=map": "only nll<=map",
		"coverage100>=0.9": "a level between 0 and 100", "coverage9.9.5>=0.9": "a level between 0 and 100", "coverage.>=0.9": "a level between 0 and 100", "nll<=NaN": "expected a number"} {
		if _, err := ParseRules([]string{text}, 0.95); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	rules, err := ParseRules([]string{"speed>=1"}, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(t.Context(), m, set, Options{Rules: rules}); err == nil || !strings.Contains(err.Error(), "expected coverage95") {
		t.Errorf("an unknown measure: %v", err)
	}
}

// TestScalar: the NLLs with a temperature are those of the same rows.
func TestScalar(t *testing.T) {
	m, set := model(t, []string{"y"}, 0), sample(101, 2, []string{"y"}, 0)
	list, _, err := candidates(t.Context(), m, set, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := subject{m: m, set: set, all: list}
	at := slices.IndexFunc(list, func(c candidate) bool { return c.order != nil })
	got, err := s.nllsOf(list[at])
	if err != nil {
		t.Fatal(err)
	}
	for k, row := range list[at].order {
		if list[at].y[k] != set.Y.Float64s()[row] {
			t.Fatalf("place %d has another target than row %d", k, row)
		}
	}
	mean := 0.0
	for _, v := range got {
		mean += v / 101
	}
	if v, _ := list[at].scores.Get("NLL"); math.Abs(v-mean) > 1e-9 {
		t.Errorf("mean NLL %g, expected %g", mean, v)
	}
}

// TestClassFaults: classes whose labels are wrong in a slice, and coverage by the most probable classes.
func TestClassFaults(t *testing.T) {
	m := model(t, []string{"k"}, 3)
	set := sample(1500, 4, []string{"k"}, 3)
	p, html := pageOf(t, m, set, Options{})
	if strings.Contains(html, "slice.</strong>") || p.Audit.Compared == 0 {
		t.Errorf("findings %+v among %d slices", p.Audit.Findings, p.Audit.Compared)
	}
	y, x := set.Y.Float64s(), set.X.Float64s()
	for i := range y {
		if x[2*i+1] > 0.5 {
			y[i] = 2 - y[i]
		}
	}
	if p, _ = pageOf(t, m, set, Options{}); len(p.Audit.Findings) == 0 || p.Audit.Findings[0].Kind != audit.SliceOff || p.Audit.Findings[0].Columns[0] != "b" {
		t.Errorf("findings %+v", p.Audit.Findings)
	}
}
