package command_test

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/settings"
)

// writeVisits writes a table of n counts, of which each mean is exp(x), and of a grade 0…2.
func writeVisits(t *testing.T, path string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	var text strings.Builder
	text.WriteString("x,visits,grade\n")
	for range n {
		x, count := 3*rng.Float64()-1.5, 0
		for p, limit := rng.Float64(), math.Exp(-math.Exp(x)); p > limit; p *= rng.Float64() {
			count++
		}
		text.WriteString(strconv.FormatFloat(x, 'g', -1, 64) + "," + strconv.Itoa(count) + "," + strconv.Itoa(min(count, 2)) + "\n")
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestLikelihoodPipeline: counts from the training to the scores, with quantiles that are counts.
func TestLikelihoodPipeline(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeVisits(t, filepath.Join(dir, "visits.csv"), 300)
	must(t, dir, "train", "visits.csv", "--target", "visits", "--drop", "grade", "--likelihood", "poisson", "--iterations", "300", "--hidden", "10", "--dtype", "float32", "--out", "map.valla")
	if out := must(t, dir, "fit", "visits.csv", "--model", "map.valla", "--method", "lla", "--out", "lla.valla"); strings.Contains(out, "noise std") {
		t.Errorf("counts have a noise: %q", out)
	}
	m, err := valla.Load(filepath.Join(dir, "lla.valla"))
	if err != nil || m.Likelihood().String() != "poisson" {
		t.Fatalf("the likelihood %v, error %v", m.Likelihood(), err)
	}
	if nll := regexp.MustCompile(`"nll": ([0-9.]+)`).FindStringSubmatch(must(t, dir, "eval", "visits.csv", "--model", "lla.valla", "--json")); nll == nil || nll[1] < "1.1" || nll[1] > "1.5" {
		t.Errorf("scores %q", nll)
	}
	text, err := os.ReadFile(filepath.Join(dir, "visits.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(filepath.Join(dir, "negative.csv"), []byte(rows[0]+strings.Repeat(strings.Join(rows[1:], ""), 40)+negative(rows[0], rows[1])), 0o600); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, 1, `negative.csv: rows from 10000 on: evaluate: row 12000 (counting from 0), target "visits": -3, expected a count`, "eval", "negative.csv", "--model", "lla.valla")
	lines := strings.Split(strings.TrimSpace(must(t, dir, "predict", "visits.csv", "--model", "lla.valla", "--quantiles", "0.05,0.5,0.95")), "\n")
	if !strings.HasSuffix(lines[0], "aleatoric,q0.05,q0.5,q0.95") || len(lines) != 301 {
		t.Fatalf("%d lines, the first is %q", len(lines), lines[0])
	}
	for _, line := range lines[1:] {
		last := -1
		for _, cell := range strings.Split(line, ",")[6:] {
			k, err := strconv.Atoi(cell)
			if err != nil || k < last {
				t.Fatalf("quantiles of %q: error %v", line, err)
			}
			last = k
		}
	}
}

// negative returns a row with −3 visits.
func negative(header, row string) string {
	names, cells := strings.Split(strings.TrimSpace(header), ","), strings.Split(strings.TrimSpace(row), ",")
	cells[slices.Index(names, "visits")] = "-3"
	return strings.Join(cells, ",") + "\n"
}

// TestLikelihoodFlags: the settings of an observation model are flags, and what does not fit is an error of one line.
func TestLikelihoodFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeVisits(t, filepath.Join(dir, "visits.csv"), 50)
	train := []string{"train", "visits.csv", "--target", "grade", "--drop", "visits", "--iterations", "1", "--out", "map.valla", "--likelihood"}
	must(t, dir, with(train, "ordinal", "--likelihood-classes", "5")...)
	m, err := valla.Load(filepath.Join(dir, "map.valla"))
	if err != nil {
		t.Fatal(err)
	}
	if p := m.Likelihood().Predict(0, 0, 1); p.CDF(3) >= 1 || p.CDF(4) != 1 {
		t.Errorf("the last of 5 classes has the probability %g", 1-p.CDF(3))
	}
	fails(t, dir, 2, `likelihood "nobody", expected one of gaussian, softmax`, with(train, "nobody")...)
	fails(t, dir, 2, "unknown flag: --likelihood-parts", with(train, "poisson", "--likelihood-parts", "3")...)
	fails(t, dir, 2, "classes with a likelihood", with(train, "poisson", "--classes")...)
	fails(t, dir, 1, `target "grade": 2, expected 0 or 1`, with(train, "bernoulli")...)
	fails(t, dir, 2, "expected one of auto, gaussian, student-t, mixture", "fit", "visits.csv", "--model", "map.valla", "--out", "x.valla", "--law", "cauchy")
	for _, model := range likelihood.Models() {
		help := must(t, dir, "train", "--likelihood", model.Name, "--help")
		for _, s := range settings.Of(model.New()) {
			if text := flagHelp(t, help, "likelihood-"+s.Name); !strings.Contains(text, model.Name+": "+s.Help) || !standard.MatchString(text) {
				t.Errorf("%s: help of --likelihood-%s: %q", model.Name, s.Name, text)
			}
		}
	}
}

// TestLikelihoodShow: the list has a line for each observation model, and each model is described with its settings.
func TestLikelihoodShow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lines := strings.Split(strings.TrimSpace(must(t, dir, "likelihood", "list")), "\n")
	for i, m := range likelihood.Models() {
		if name, rest, _ := strings.Cut(lines[i], " "); name != m.Name || strings.TrimSpace(rest) != m.Summary {
			t.Errorf("line %q of %s", lines[i], m.Name)
		}
		text := must(t, dir, "likelihood", "show", m.Name)
		words := strings.Join(strings.Fields(text), " ")
		for _, want := range []string{m.Title, m.Summary, m.Formula, m.Targets, m.Use, m.Source} {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: no %q in\n%s", m.Name, want, text)
			}
		}
		var doc struct {
			Name, Title, Summary, Formula, Targets, Use, Source string
			Settings                                            []settingDoc
		}
		decode(t, must(t, dir, "likelihood", "show", m.Name, "--json"), &doc)
		fields := settings.Of(m.New())
		if doc.Name != m.Name || len(doc.Settings) != len(fields) {
			t.Fatalf("%s: document %+v", m.Name, doc)
		}
		for i, f := range fields {
			if doc.Settings[i].Name != f.Name || !regexp.MustCompile(`│ --likelihood-`+f.Name+` +│ `).MatchString(text) {
				t.Errorf("%s: setting %+v, want %s", m.Name, doc.Settings[i], f.Name)
			}
		}
	}
	fails(t, dir, 2, "expected the name of one observation model, found 0 arguments; valla likelihood list names them", "likelihood", "show")
}

// TestFitLaw: the model has the law of residuals that the user names.
func TestFitLaw(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	for law, want := range map[string]int{"student-t": 1, "gaussian": 0} {
		must(t, dir, "fit", "train.csv", "--model", "map.valla", "--method", "lla", "--law", law, "--validation", "0.5", "--out", law+".valla")
		if m, err := valla.Load(filepath.Join(dir, law+".valla")); err != nil || len(m.Laws) != want || want > 0 && m.Laws[0].Family != law {
			t.Errorf("the law %s gives the laws %v, error %v", law, m.Laws, err)
		}
	}
}
