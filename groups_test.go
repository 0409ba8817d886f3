package valla

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/figure"
)

// grouped are made tables whose noise depends on a column, and tables of classes; the column by which rows are divided has the
// name by.
var grouped = map[string]struct {
	by   string
	rows func(n int, seed uint64) *data.Set
}{
	"noise grows with a": {"a", noisy(func(a, _ float64, rng *rand.Rand) float64 { return (0.1 + 0.25*math.Abs(a)) * rng.NormFloat64() })},
	"three kinds": {"b", noisy(func(_, b float64, rng *rand.Rand) float64 {
		return []float64{0.1, 0.3, 0.9}[int(b)] * rng.NormFloat64()
	})},
	"skewed on one side": {"a", noisy(func(a, _ float64, rng *rand.Rand) float64 {
		if a > 1 {
			return rng.ExpFloat64() - 1
		}
		return 0.3 * rng.NormFloat64()
	})},
	"heavy tails in one kind": {"b", noisy(func(_, b float64, rng *rand.Rand) float64 {
		if b == 2 {
			return 0.3 * rng.NormFloat64() / math.Sqrt(rng.ExpFloat64())
		}
		return 0.3 * rng.NormFloat64()
	})},
	"even noise": {"a", noisy(func(_, _ float64, rng *rand.Rand) float64 { return 0.3 * rng.NormFloat64() })},
	"classes": {"a", func(n int, seed uint64) *data.Set {
		set := noisy(func(a, _ float64, rng *rand.Rand) float64 { return (0.1 + 0.6*max(a, 0)) * rng.NormFloat64() })(n, seed)
		for i, v := range set.Y.Float64s() {
			set.Y.Float64s()[i] = min(2, max(0, math.Floor((v+2.5)/5*3)))
		}
		return set
	}},
}

// noisy returns tables of sin(a) and of kinds b from 0 to 2, with noise.
func noisy(noise func(a, b float64, rng *rand.Rand) float64) func(n int, seed uint64) *data.Set {
	return func(n int, seed uint64) *data.Set {
		rng := rand.New(rand.NewPCG(seed, 21))
		x, y := make([]float64, 2*n), make([]float64, n)
		for i := range y {
			a, b := 6*rng.Float64()-3, float64(rng.IntN(3))
			x[2*i], x[2*i+1], y[i] = a, b, 2*math.Sin(a)+0.5*b+noise(a, b, rng)
		}
		return &data.Set{Features: []string{"a", "b"}, Targets: []string{"y"}, X: denseOf(x, n, 2), Y: denseOf(y, n, 1)}
	}
}

// heldBy returns the shares of the fresh rows inside their intervals or sets of 90 %, by the groups of g, and the mean width or size.
func heldBy(t *testing.T, m *Model, set *data.Set, g *calibrate.Groups) (_ []float64, width float64) {
	t.Helper()
	p := predict(t, m, set.X)
	x, y, n := set.X.Float64s(), set.Y.Float64s(), make([]float64, len(g.Sizes))
	shares, d := make([]float64, len(n)), len(x)/len(y)
	var sets [][]int
	lower, upper, err := p.Interval(0.9)
	if p.Classes != nil {
		sets, err = p.Sets(0.9)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range y {
		k, inside := g.Group(x[i*d:(i+1)*d]), false
		if sets != nil {
			width += float64(len(sets[i])) / float64(len(y))
			inside = slices.ContainsFunc(sets[i], func(c int) bool { return p.Classes[c] == v })
		} else {
			width += (upper[i] - lower[i]) / float64(len(y))
			inside = lower[i] <= v && v <= upper[i]
		}
		if n[k]++; inside {
			shares[k]++
		}
	}
	for k := range shares {
		shares[k] /= n[k]
	}
	return shares, width
}

// TestGroups: with groups the intervals and sets hold 87 to 93 % in each group of fresh rows, where those for all rows together do not, and
// the groups come back from a file. With -update the test draws the picture of docs/groups.md.
func TestGroups(t *testing.T) {
	var charts []figure.Chart
	for _, name := range slices.Sorted(maps.Keys(grouped)) {
		c := grouped[name]
		train := quickTrain()
		train.Classes = name == "classes"
		set := c.rows(600, 1)
		m, err := Train(t.Context(), set, train)
		if err != nil {
			t.Fatal(err)
		}
		m = fit(t, m, set, FitOptions{Settings: &laplace.Settings{Structure: "diag"}, Law: "gaussian"})
		all, err := m.Calibrate(t.Context(), c.rows(20_000, 2), CalibrateOptions{Method: CalibrateConformal})
		if err != nil {
			t.Fatal(err)
		}
		by, err := m.Calibrate(t.Context(), c.rows(20_000, 2), CalibrateOptions{Method: CalibrateConformal, Groups: c.by})
		if err != nil {
			t.Fatal(err)
		}
		by = loaded(t, written(t, by))
		g := by.Calibration.Conformal.Groups
		fresh := c.rows(20_000, 3)
		together, plain := heldBy(t, all, fresh, g)
		divided, width := heldBy(t, by, fresh, g)
		t.Logf("| %s | %d | %.1f | %.1f | %.1f | %.1f | %.2f |", name, len(g.Sizes), 100*slices.Min(together), 100*slices.Max(together), 100*slices.Min(divided), 100*slices.Max(divided), width/plain)
		if slices.Min(divided) < 0.87 || slices.Max(divided) > 0.93 || width > 1.15*plain {
			t.Errorf("%s: %.3f inside, width %.3g instead of %.3g", name, divided, width, plain)
		}
		if name != "even noise" && slices.Min(together) > 0.87 {
			t.Errorf("%s: all rows together hold %.3f", name, together)
		}
		curves := []figure.Series{coverageCurve("one calibration for all rows", together), coverageCurve("a calibration for each group", divided)}
		curves = append(curves, figure.Series{Name: "90 %", X: []float64{1, float64(len(divided))}, Y: []float64{90, 90}})
		charts = append(charts, figure.Curves(figure.Axes{Title: name, X: "group by " + c.by, Y: "rows inside, %"}, curves))
	}
	if *update {
		if err := figure.SavePNG("docs/groups.png", charts...); err != nil {
			t.Fatal(err)
		}
	}
}

// coverageCurve returns shares of groups in percent, against the number of the group from 1.
func coverageCurve(name string, shares []float64) figure.Series {
	s := figure.Series{Name: name}
	for k, v := range shares {
		s.X, s.Y = append(s.X, float64(k+1)), append(s.Y, 100*v)
	}
	return s
}

// TestGroupsAgree: a Predictor and rows one by one have the groups of all rows together.
func TestGroupsAgree(t *testing.T) {
	m, _ := trained(t)
	m, err := m.Calibrate(t.Context(), wave(500, 4), CalibrateOptions{Method: CalibrateConformal, Groups: "b"})
	if err != nil {
		t.Fatal(err)
	}
	set := wave(60, 5)
	p := predict(t, m, set.X)
	if len(slices.Compact(slices.Sorted(slices.Values(p.Groups)))) < 3 {
		t.Errorf("groups %v", p.Groups)
	}
	q, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out Prediction
	if err := q.Predict(t.Context(), set.X.Float64s(), &out); err != nil || !slices.Equal(out.Groups, p.Groups) {
		t.Errorf("groups %v by a predictor, %v by the model, error %v", out.Groups, p.Groups, err)
	}
	for i := range 60 {
		one := predict(t, m, tensor.New(tensor.WithShape(1, 2), tensor.WithBacking(slices.Clone(set.X.Float64s()[2*i:2*i+2]))))
		a, _, err := one.Interval(0.9)
		b, _, errs := p.Interval(0.9)
		if err != nil || errs != nil || one.Groups[0] != p.Groups[i] || math.Abs(a[0]-b[i]) > 1e-9 {
			t.Fatal(fmt.Sprint(i, one.Groups, p.Groups[i], a, b[i], err, errs))
		}
	}
	g, err := m.Latent(t.Context(), set.X)
	if err != nil {
		t.Fatal(err)
	}
	oneLine(t, m.Fill(t.Context(), g, PredictOptions{}, &out), "the conformal calibration goes by the inputs", "expected 120 inputs")
	for want, o := range map[string]CalibrateOptions{
		`"c" is no column of the model`: {Groups: "c"}, "does not divide the 60 rows": {Groups: "b"}} {
		o.Method = CalibrateConformal
		_, err := m.Calibrate(t.Context(), set, o)
		oneLine(t, err, want)
	}
	_, err = m.Export(t.Context(), t.TempDir()+"/m.onnx", ExportOptions{})
	oneLine(t, err, "by groups or with weights cannot be exported")
}

// TestGroupsOfCategories: rows with an unseen category and rows with a missing one have groups that they share with no frequent category, by
// a Predictor as by the model.
func TestGroupsOfCategories(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	table := func(n int, cities func(i int) string) *data.Table {
		text := "city,a,y\n"
		for i := range n {
			a := rng.NormFloat64()
			text += fmt.Sprintf("%s,%.6f,%.6f\n", cities(i), a, a+0.1*rng.NormFloat64())
		}
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := data.ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	some := func(every int) func(i int) string { // one row of so many has a rare or a missing category
		return func(i int) string {
			if i%every == 0 {
				return []string{"", fmt.Sprint("village", i)}[i/every%2]
			}
			return []string{"Bonn", "Cork", "Köln"}[i%3]
		}
	}
	set, err := Encode(table(600, some(100)), data.ColumnOptions{Targets: []string{"y"}}, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	o := quickTrain()
	o.Network.Dtype = "float32"
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := m.Set(table(1200, some(4)), true)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Calibrate(t.Context(), rows, CalibrateOptions{Method: CalibrateConformal, Groups: "city"}); err != nil {
		t.Fatal(err)
	}
	fresh, err := m.Set(table(120, func(i int) string { return []string{"Bonn", "Cork", "Köln", "", "Rome"}[i%5] }), true)
	if err != nil {
		t.Fatal(err)
	}
	q, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out Prediction
	p := predict(t, m, fresh.X)
	if err := q.Predict(t.Context(), graph.Floats(fresh.X), &out); err != nil || !slices.Equal(out.Groups, p.Groups) {
		t.Errorf("groups %v by a predictor, %v by the model, error %v", out.Groups, p.Groups, err)
	}
	for i, g := range p.Groups {
		if want := p.Groups[i%5]; g != want || i%5 > 2 && slices.Contains(p.Groups[:3], g) {
			t.Fatalf("row %d of five categories has the group %d, of %v", i, g, p.Groups[:5])
		}
	}
}

// TestGroupsOfCodes: a column of many categories, which is one input of codes, has a group for each category, and the small ones one together.
func TestGroupsOfCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	rows := func(n int) string {
		text := "shop,a,y\n"
		for i := range n {
			a := rng.NormFloat64()
			text += fmt.Sprintf("s%02d,%.6f,%.6f\n", i%25, a, a+0.1*rng.NormFloat64())
		}
		return text + "rare,0,0\nrare,1,1\n"
	}
	table := func(n int) *data.Table {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(rows(n)), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := data.ReadTable(path)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	set, err := Encode(table(500), data.ColumnOptions{Targets: []string{"y"}}, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Train(t.Context(), set, quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	held, err := m.Set(table(2500), true)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Calibrate(t.Context(), held, CalibrateOptions{Method: CalibrateConformal, Groups: "shop"}); err != nil {
		t.Fatal(err)
	}
	sizes := m.Calibration.Conformal.Groups.Sizes
	if len(sizes) != 25 || slices.Min(sizes) != 100 || slices.Max(sizes) != 102 {
		t.Errorf("groups of the sizes %v, expected 24 of 100 rows, and one of 102 with the two rare rows", sizes)
	}
	if fact := m.History[len(m.History)-1].Facts[0]; fact.Name != "groups" || fact.Value != 25 {
		t.Errorf("fact %+v", fact)
	}
}

// moved draws tables of a model whose noise grows with a, and whose mean a network of one unit misses, for inputs around a centre.
func moved(centre, wide float64) func(n int, seed uint64) *data.Set {
	return func(n int, seed uint64) *data.Set {
		rng := rand.New(rand.NewPCG(seed, 31))
		x, y := make([]float64, 2*n), make([]float64, n)
		for i := range y {
			a, b := centre+wide*rng.NormFloat64(), rng.NormFloat64()
			x[2*i], x[2*i+1], y[i] = a, b, math.Sin(a)+(0.1+0.4*max(a, 0))*rng.NormFloat64()
		}
		return &data.Set{Features: []string{"a", "b"}, Targets: []string{"y"}, X: denseOf(x, n, 2), Y: denseOf(y, n, 1)}
	}
}

// TestLike: with weights the intervals hold 87 to 93 % for rows with other inputs, where those without weights do not, and the weights
// come back from a file, in a Predictor and for several batches.
func TestLike(t *testing.T) {
	before := moved(0, 1)
	m, err := Train(t.Context(), before(600, 1), quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	for name, after := range map[string]func(n int, seed uint64) *data.Set{"to the right": moved(1, 0.8), "to the left": moved(-1, 0.8), "narrower": moved(0, 0.3), "none": moved(0, 1)} {
		all, err := m.Calibrate(t.Context(), before(4000, 2), CalibrateOptions{Method: CalibrateConformal})
		if err != nil {
			t.Fatal(err)
		}
		by, err := m.Calibrate(t.Context(), before(4000, 2), CalibrateOptions{Method: CalibrateConformal, Like: after(2000, 4).X})
		if err != nil {
			t.Fatal(err)
		}
		by = loaded(t, written(t, by))
		fresh, one := after(20_000, 3), &calibrate.Groups{Inputs: []int{0}, Of: []int{0}, Sizes: []int{1}}
		plain, _ := heldBy(t, all, fresh, one)
		weighted, _ := heldBy(t, by, fresh, one)
		t.Logf("| %s | %.1f | %.1f |", name, 100*plain[0], 100*weighted[0])
		if weighted[0] < 0.87 || weighted[0] > 0.93 || name != "none" && math.Abs(plain[0]-0.9) < 0.03 {
			t.Errorf("%s: %.3f inside with weights, %.3f without", name, weighted[0], plain[0])
		}
		q, err := by.Predictor(PredictorOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out Prediction
		few := after(50, 5)
		if err := q.Predict(t.Context(), few.X.Float64s(), &out); err != nil || !close(out.Weights, predict(t, by, few.X).Weights, 1e-9) {
			t.Errorf("%s: weights differ, error %v", name, err)
		}
	}
	_, err = m.Calibrate(t.Context(), before(50, 2), CalibrateOptions{Method: CalibrateConformal, Like: before(50, 4).X, Groups: "a"})
	oneLine(t, err, "expected one of the two")
	c, err := m.Calibrate(t.Context(), before(60, 2), CalibrateOptions{Method: CalibrateConformal, Like: before(60, 4).X})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = predict(t, c, before(5, 5).X).Interval(0.9)
	oneLine(t, err, "the level 0.9 needs rows of the calibration with a weight of 180")
}

// TestGroupsOnTables prints the table of real data in docs/groups.md: a third of the rows trains, a third calibrates, a third is fresh.
func TestGroupsOnTables(t *testing.T) {
	const folder = "../shared/data"
	if os.Getenv("VALLA_LONG") == "" {
		t.Skip("set VALLA_LONG=1")
	}
	for _, c := range []struct {
		name string
		late float64 // targets above are one of two classes; 0 keeps the numbers
	}{{name: "power"}, {name: "taxi-green"}, {name: "airline-nycflights13"}, {"airline-nycflights13", 15}} {
		name := c.name
		s, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		of, err := s.Table(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		if y := of.Train.Y.Float64s(); c.late > 0 {
			name += " as classes"
			for i, v := range y {
				y[i] = 0
				if v > c.late {
					y[i] = 1
				}
			}
		}
		order := rand.New(rand.NewPCG(1, 8)).Perm(of.Train.N())
		order = order[:min(len(order), 60_000)]
		n := len(order) / 3
		train, chosen, fresh := of.Train.Rows(order[:min(n, 3000)]), of.Train.Rows(order[n:2*n]), of.Train.Rows(order[2*n:])
		m, err := Train(t.Context(), train, TrainOptions{Training: Training{Iterations: 1500}, Classes: c.late > 0})
		if err != nil {
			t.Fatal(err)
		}
		m = fit(t, m, train, FitOptions{Settings: &laplace.Settings{Structure: "kfac"}})
		all, err := m.Calibrate(t.Context(), chosen, CalibrateOptions{Method: CalibrateConformal})
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range of.Train.Features[:min(3, len(of.Train.Features))] {
			by, err := m.Calibrate(t.Context(), chosen, CalibrateOptions{Method: CalibrateConformal, Groups: column})
			if err != nil {
				t.Log(column, err)
				continue
			}
			g := by.Calibration.Conformal.Groups
			together, plain := heldBy(t, all, fresh, g)
			divided, width := heldBy(t, by, fresh, g)
			t.Logf("| %s by %s, %d rows | %d | %.1f | %.1f | %.1f | %.1f | %.2f |", name, column, n, len(g.Sizes), 100*slices.Min(together), 100*slices.Max(together), 100*slices.Min(divided), 100*slices.Max(divided), width/plain)
		}
	}
}
