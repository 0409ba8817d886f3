package assess

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// sample returns n rows with two inputs and targets, or classes if there are any.
func sample(n int, seed uint64, targets []string, classes int) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 5))
	var x, y []float64
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x = append(x, a, b)
		for k := range targets {
			v := math.Sin(a)*float64(k+1) + b + (0.2+0.2*math.Abs(a))*rng.NormFloat64()
			if classes > 0 {
				v = float64(min(max(int((v+2)/4*float64(classes)), 0), classes-1))
			}
			y = append(y, v)
		}
	}
	return &data.Set{Features: []string{"a", "b"}, Targets: targets,
		X: tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, len(targets)), tensor.WithBacking(y))}
}

// model returns a network with a posterior for such rows.
func model(t *testing.T, targets []string, classes int) *valla.Model {
	t.Helper()
	set := sample(max(150, 20*classes), 1, targets, classes)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{
		Network: valla.Network{Hidden: []int{6}}, Training: valla.Training{Iterations: 150}, Classes: classes > 0})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{}, Law: "gaussian"}); err != nil {
		t.Fatal(err)
	}
	return m
}

// pageOf returns the page and its text, which is well-formed and has no number that is none.
func pageOf(t *testing.T, m *valla.Model, set *data.Set, o Options) (*Page, string) {
	t.Helper()
	last, all := 0, 0
	o.OnRows = func(done, total int) {
		if done <= last || all > 0 && total != all {
			t.Errorf("%d of %d rows after %d of %d", done, total, last, all)
		}
		last, all = done, total
	}
	p, err := New(t.Context(), m, set, o)
	if err != nil {
		t.Fatal(err)
	}
	if last == 0 || last != all {
		t.Errorf("in the end %d of %d rows are done", last, all)
	}
	html, err := p.HTML()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(html, []byte("<body>"))
	body, _, _ := bytes.Cut(rest, []byte("</body>"))
	dec := xml.NewDecoder(bytes.NewReader(slices.Concat([]byte("<b>"), body, []byte("</b>"))))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!", "http://", "https://"} {
		if strings.Contains(strings.ReplaceAll(string(body), "http://www.w3.org/2000/svg", ""), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	return p, string(html)
}

func names(t Table) (out []string) {
	for _, r := range t.Rows {
		out = append(out, r[0].Text)
	}
	return out
}

// The page of one target has all candidates, the coverages of package metric, and the row whose
// target was moved far away on top of its surprises.
func TestNumbers(t *testing.T) {
	m, set := model(t, []string{"y"}, 0), sample(120, 2, []string{"y"}, 0)
	y := set.Y.Float64s()
	y[17] += 50
	p, html := pageOf(t, m, set, Options{Data: "a <b>.csv", Model: "m.valla"})
	if got := names(p.Scores); !slices.Equal(got, []string{"MAP", "LLA", "MAP + temperature", "LLA + temperature"}) {
		t.Errorf("candidates %q", got)
	}
	if len(p.Parts) != 1 || len(p.Parts[0].Figures) != 6 || len(p.Parts[0].Tables) != 3 || strings.Count(html, "<figure>") != 6 {
		t.Fatalf("parts %+v", p.Parts)
	}
	levels, rows := p.Parts[0].Tables[0], p.Parts[0].Tables[2]
	s, err := m.Evaluate(t.Context(), set, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := levels.Rows[2][2].Text, fmt.Sprintf("%.1f", 100*s.Coverage[8]); got != want {
		t.Errorf("coverage %s, expected %s", got, want)
	}
	if r := rows.Rows[0]; r[0].Text != "18" || r[1].Text != input(y[17]) || !strings.HasPrefix(r[4].Text, "+") || len(r) != 7 || len(rows.Rows) != worst {
		t.Errorf("surprises %+v", r)
	}
	if len(p.Summary) != 2 || !strings.Contains(p.Summary[1], fmt.Sprintf("hold %.1f %%", 100*insideOf(t, m, set, 0.95))) {
		t.Errorf("summary %q", p.Summary)
	}
	if !strings.Contains(html, "a &lt;b&gt;.csv") {
		t.Error("the name of the file is not quoted")
	}
	if p, _ = pageOf(t, m, sample(150, 1, []string{"y"}, 0), Options{}); len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "About 90 % of these rows") {
		t.Errorf("notes %q on rows of the training", p.Notes)
	}
}

// Rows are shown as the columns of the file, not as the inputs that the columns became.
func TestColumnsOfText(t *testing.T) {
	set := sample(60, 2, []string{"y"}, 0)
	m, e := model(t, []string{"y"}, 0), &data.Encoding{Columns: []data.ColumnCode{{Name: "kind", Kind: data.Codes, Values: []string{"red", "blue"}}, {Name: "b", Kind: data.Number}}}
	set.Encoding = e
	x := set.X.Float64s()
	for i := range 60 {
		x[2*i] = float64(i % 2)
	}
	p, _ := pageOf(t, m, set, Options{})
	rows := p.Parts[0].Tables[2]
	if got := rows.Head[5:]; !slices.Equal(got, []string{"kind", "b"}) {
		t.Errorf("columns %q", got)
	}
	for _, r := range rows.Rows {
		if i, _ := strconv.Atoi(r[0].Text); r[5].Text != []string{"red", "blue"}[(i-1)%2] || r[6].Text != input(x[2*i-1]) {
			t.Errorf("row %d is %+v", i, r)
		}
	}
}

func insideOf(t *testing.T, m *valla.Model, set *data.Set, level float64) float64 {
	p, err := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := p.Covered(set.Y.Float64s(), level)
	if err != nil {
		t.Fatal(err)
	}
	return float64(n) / float64(set.N())
}

// Each half of the rows has the temperature of the other.
func TestCrossed(t *testing.T) {
	m, set := model(t, []string{"y"}, 0), sample(60, 3, []string{"y"}, 0)
	p, y, err := crossed(t.Context(), m, set, valla.PredictOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := holdout.Halves(set, 0)
	if got := y.Float64s(); !slices.Equal(got, append(b.Y.Float64s(), a.Y.Float64s()...)) {
		t.Errorf("targets %v", got)
	}
	c, err := m.Calibrate(t.Context(), a, valla.CalibrateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.Predict(t.Context(), b.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Variance[:b.N()], want.Variance) || p.N() != 60 {
		t.Error("other variances than those of the other half's temperature")
	}
}

// Several targets have a section each, also after a calibration; few rows have no temperature.
func TestSeveralTargets(t *testing.T) {
	targets := []string{"u", "<v>"}
	m := model(t, targets, 0)
	c, err := m.Calibrate(t.Context(), sample(60, 4, targets, 0), valla.CalibrateOptions{Method: valla.CalibrateConformal})
	if err != nil {
		t.Fatal(err)
	}
	p, html := pageOf(t, c, sample(80, 5, targets, 0), Options{Level: 0.9})
	if p.Name != "LLA, conformal" || len(p.Parts) != 2 || !strings.Contains(html, `<a href="#target-1">&lt;v&gt;</a>`) {
		t.Errorf("page of %s with %d parts", p.Name, len(p.Parts))
	}
	if r := p.Parts[1].Tables[0].Rows[4]; r[3].Text != "–" {
		t.Errorf("99 %% intervals of 60 rows: %+v", r)
	}
	if c, err = m.Calibrate(t.Context(), sample(60, 4, targets, 0), valla.CalibrateOptions{Method: valla.CalibrateTemperature}); err != nil {
		t.Fatal(err)
	}
	if p, _ = pageOf(t, c, sample(5, 6, targets, 0), Options{}); p.Hot {
		t.Errorf("the page of %s explains temperatures of halves of 5 rows", p.Name)
	}
	p, _ = pageOf(t, m.MAP(), sample(5, 6, targets, 0), Options{})
	if len(p.Scores.Rows) != 1 || len(p.Notes) != 1 || len(p.Summary) != 1 {
		t.Errorf("page %+v", p.Scores)
	}
}

// The confusions count every row, and the last point of the kept rows is the accuracy.
func TestClasses(t *testing.T) {
	m, set := model(t, []string{"k"}, 3), sample(100, 7, []string{"k"}, 3)
	p, html := pageOf(t, m, set, Options{})
	part, total := p.Parts[0], 0
	for _, r := range part.Tables[0].Rows {
		for _, c := range r[1:] {
			var n int
			if _, err := fmt.Sscan(c.Text, &n); err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	if total != 100 || len(part.Tables[0].Rows) != 3 || !strings.Contains(html, "Brier") {
		t.Errorf("%d rows in %+v", total, part.Tables[0])
	}
	if len(p.Summary) != 1 {
		t.Errorf("summary %q", p.Summary)
	}
	c, err := m.Calibrate(t.Context(), sample(100, 8, []string{"k"}, 3), valla.CalibrateOptions{Method: valla.CalibrateConformal})
	if err != nil {
		t.Fatal(err)
	}
	if p, _ = pageOf(t, c, set, Options{}); len(p.Summary) != 2 || !strings.Contains(p.Summary[1], "classes on average") {
		t.Errorf("summary %q", p.Summary)
	}
	many, _ := pageOf(t, model(t, []string{"k"}, 14), sample(100, 9, []string{"k"}, 14), Options{})
	if table := many.Parts[0].Tables[0]; table.Title != "The most frequent confusions" || len(table.Rows) == 0 || len(table.Rows) > worst {
		t.Errorf("confusions %+v", table)
	}
}

// A posterior with Student's t inside is compared with the network with the law that the verdict gave it, as a posterior with a
// law is.
func TestInside(t *testing.T) {
	set := sample(300, 1, []string{"y"}, 0)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{6}}, Training: valla.Training{Iterations: 150}})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := likelihood.Named("student-t")
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{}, Likelihood: inside}); err != nil {
		t.Fatal(err)
	}
	if all, network := Models(m); len(all) != 3 || network != 1 || all[1].String() != "MAP + student-t" {
		t.Errorf("compared with model %d of %v", network, all)
	}
	pageOf(t, m, sample(80, 5, []string{"y"}, 0), Options{Level: 0.9})
}

// TestLawOfCalibration: a law that a calibration has fitted is in the model that the page judges, beside the model before it.
func TestLawOfCalibration(t *testing.T) {
	m := model(t, []string{"y"}, 0)
	c, err := m.Calibrate(t.Context(), sample(300, 7, []string{"y"}, 0), valla.CalibrateOptions{Method: valla.CalibrateLaw, Law: "student-t"})
	if err != nil {
		t.Fatal(err)
	}
	all, _ := Models(c)
	if len(all) < 3 || all[len(all)-1] != c || all[len(all)-2].Laws != nil {
		t.Fatalf("models %v", all)
	}
	set := sample(101, 2, []string{"y"}, 0)
	p, _ := pageOf(t, c, set, Options{Level: 0.9})
	if got := names(p.Scores); !slices.Contains(got, c.String()) || c.String() == m.String() {
		t.Errorf("rows %q, expected %q among them", got, c)
	}
}

// What a fit found is said as it is.
func TestCompare(t *testing.T) {
	flat := []float64{1, 1, 1, 1}
	for want, model := range map[string][]float64{
		"the error bars help":      {0.5, 0.4, 0.5, 0.4},
		"no clear difference":      {0.5, 1.7, 0.8, 1.2},
		"the error bars are worse": {1.5, 1.4, 1.5, 1.4},
		"next to nothing":          {1.0001, 1.0001, 1.0001, 1.0001},
	} {
		if got := compare(model, flat, "M", "MAP"); !strings.Contains(got, want) {
			t.Errorf("%v: %s", model, got)
		}
	}
	if got := compare([]float64{0.5}, flat[:1], "M", "MAP"); strings.Contains(got, "±") {
		t.Errorf("one row has a standard error: %s", got)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1.000", 12345.6: "12346", -0.012345: "-0.01235", 1e-9: "1e-09", 2.5e12: "2.5e+12"} {
		if got := number(v); got != want {
			t.Errorf("%g is %s, expected %s", v, got, want)
		}
	}
}

// TestScoreText: scores in any unit of the target keep digits that tell them apart.
func TestScoreText(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0000", 3.45678: "3.4568", 0.0312345: "0.0312", -20.51234: "-20.5123", 0.00312345: "0.003123", 3.3e-10: "3.3e-10",
		330366698121.124: "3.304e+11", math.Inf(1): "+Inf"} {
		if got := ScoreText(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	m, set := model(t, []string{"y"}, 0), sample(30, 2, []string{"y"}, 0)
	if _, err := New(t.Context(), m, set, Options{Level: 1}); !errors.Is(err, settings.ErrSetting) {
		t.Errorf("error %v of a level", err)
	}
	set.Targets = []string{"z"}
	if _, err := New(t.Context(), m, set, Options{}); err == nil || !strings.Contains(err.Error(), `"z"`) {
		t.Errorf("error %v of another target", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, m, sample(30, 2, []string{"y"}, 0), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end", err)
	}
}

// TestErrorText: a standard error has two digits, and that of one row is a dash.
func TestErrorText(t *testing.T) {
	for v, want := range map[float64]string{0.01234: "0.012", 120: "1.2e+02", math.NaN(): "—"} {
		if got := ErrorText(v); got != want {
			t.Errorf("%g: %q, expected %q", v, got, want)
		}
	}
}
