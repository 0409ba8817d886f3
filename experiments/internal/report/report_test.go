package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
)

// leave writes the results of an experiment: two seeds of MAP and VaLLA 100 on mnist, the
// second seed of the latter and VaLLA 200 missing, and LLA refused.
func leave(t *testing.T, dir string) {
	t.Helper()
	f, err := result.Open(dir, "mnist", "quick")
	if err != nil {
		t.Fatal(err)
	}
	plan := result.Plan{Experiment: "mnist", Profile: "quick", About: "digits", Commands: []string{"valla experiment run mnist --profile quick", "valla experiment run mnist --profile full"}, Data: []string{"mnist"}}
	for _, row := range []string{"MAP", "LLA", "VaLLA 100", "VaLLA 200"} {
		for seed := range uint64(2) {
			id := result.ID{Data: "mnist", Method: "m", Row: row, Seed: seed, Hash: "h"}
			plan.Cells = append(plan.Cells, id)
			c := &result.Cell{ID: id, Machine: result.ThisMachine("v1"), Fit: result.Cost{Wall: 1 + float64(seed), CPU: 2, Peak: 3 << 20, Runs: 1}}
			switch {
			case row == "LLA":
				c.Refused = "LLA needs 9 bytes"
			case row == "VaLLA 200", row == "VaLLA 100" && seed == 1:
				continue
			default:
				c.Scores = map[string]result.Scores{"probit": {"NLL": result.Number(0.5 - 0.1*float64(len(row)) + 0.2*float64(seed)), "ACC": 0.5}}
				c.Curves = result.Curves{
					History: []result.Point{{Step: 1, Seconds: 1, Validation: 2}, {Step: 2, Seconds: 2, Validation: 1}}, Coverage: []float64{0.2, 0.9},
					Rotations: []result.Turned{{Degrees: 0, Changed: result.Changed{NLL: 1}}, {Degrees: 10, Changed: result.Changed{NLL: 2}}}, Reliable: []result.XY{{X: 0, Y: 0}, {X: 1, Y: 1}},
					Corrupted: []result.Corrupt{{Name: "blur", Level: 1, Changed: result.Changed{NLL: 1}}, {Name: "fog", Level: 1, Changed: result.Changed{NLL: 3}}},
					Entropy:   &result.Entropy{Max: 1, In: []float64{2, 0}, Out: []float64{0, 2}},
					Band:      &result.Band{Grid: []float64{0, 1}, Mean: []float64{0, 1}, Std: []float64{1, 1}, Latent: []float64{1, 1}, X: []float64{0}, Y: []float64{1}},
				}
			}
			if err := f.Write(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Expect(plan); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, table Table, method, probs, metric, source string) Cell {
	t.Helper()
	for _, r := range table.Rows {
		for i, c := range table.Columns {
			if r.Method == method && r.Probs == probs && c.Metric == metric && c.Source == source {
				return r.Cells[i]
			}
		}
	}
	t.Fatalf("no cell %s, %s, %s, %s", method, probs, metric, source)
	return Cell{}
}

// TestTable: measured numbers stand beside the paper's numbers, with marks. A missing number
// is shown as missing.
func TestTable(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir)
	r, err := New(dir, []Known{{Name: "uci", About: "tables"}, {Name: "mnist"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Sections) != 1 || r.Sections[0].Done != 5 || r.Sections[0].Expected != 8 || len(r.NotRun) != 1 || r.NotRun[0].Name != "uci" {
		t.Fatalf("report %+v", r)
	}
	table := r.Sections[0].Data[0].Table
	// MAP: 0.5 − 0.3 and 0.4, the mean of 0.2 and 0.4 is 0.3, and their deviation 0.1·√2.
	for _, c := range []struct {
		method, probs, metric, source, text string
		mark                                Mark
	}{
		{"MAP", "probit", "NLL", here, "0.3000 ± 0.1414", Second},
		{"VaLLA 100", "probit", "NLL", here, "-0.4000", Best},
		{"LLA", "probit", "NLL", here, "too large", Plain},
		{"VaLLA 100", "probit", "NLL", printed, "0.076", Second},
		{"VaLLA 100", "probit", "NLL", runs, "0.0757", Second},
		{"VaLLA 200", "probit", "NLL", here, "missing", Plain},
		{"VaLLA 200", "probit", "NLL", runs, "0.0752", Best},
		{"ELLA", "probit", "NLL", printed, "0.076", Second},
		{"ELLA", "probit", "NLL", here, "", Plain},
		{"MAP", "probit", "ACC", here, "0.5000 ± 0.0000", Plain},
	} {
		if got := find(t, table, c.method, c.probs, c.metric, c.source); got.Text != c.text || got.Mark != c.mark {
			t.Errorf("%s, %s, %s: %+v, want %q and mark %d", c.method, c.metric, c.source, got, c.text, c.mark)
		}
	}
	costs := r.Sections[0].Data[0].Costs
	for metric, want := range map[string]string{"fit, s": "1.5", "peak, MiB": "3"} {
		if got := find(t, costs, "MAP", "probit", metric, here); got.Text != want {
			t.Errorf("%s: %+v, want %q", metric, got, want)
		}
	}
	if got := find(t, table, "VaLLA 200", "probit", "NLL", printed); got.Mark != Best {
		t.Errorf("the smallest printed NLL is marked %d", got.Mark)
	}
	if got := table.Says[0]; got != "NLL: VaLLA 100 has -0.4000, 0.7000 better than MAP (0.3000)." {
		t.Errorf("it says %q", got)
	}
	if got := table.Rows[2].Seeds; got != "1 of 2" {
		t.Errorf("seeds %q", got)
	}
}

// TestPublished: the numbers that stand beside ours are the numbers of the files.
func TestPublished(t *testing.T) {
	at := func(data string, p place, source map[place]map[string]float64, metric string) float64 {
		return source[p][metric]
	}
	fm, air := publishedFor("fmnist"), publishedFor("airline")
	for _, c := range []struct{ got, want float64 }{
		{at("fmnist", place{"VaLLA 100", "probit"}, fm.runs, "NLL"), 0.354741},
		{at("fmnist", place{"VaLLA 100", "mc"}, fm.runs, "NLL"), 0.378664},
		{at("cifar10-resnet20", place{"VaLLA 100", "mc"}, publishedFor("cifar10-resnet20").runs, "NLL"), 0.227866},
		{at("fmnist", place{"LLA last-layer KFAC", "probit"}, fm.runs, "OOD-AUC"), 0.880454},
		{at("fmnist", place{"VaLLA 200", "probit"}, fm.printed, "ACC"), 0.876},
		{at("airline", place{"VaLLA 100", ""}, air.printed, "CQM"), 0.109},
		{at("airline", place{"VaLLA 100", ""}, air.runs, "CQM"), 0.05887},
		{at("airline", place{"LLA Diag", ""}, air.runs, "NLL"), 5.096887},
		{publishedFor("cifar10-resnet20").printed[place{"VaLLA 100", "mc"}]["NLL"], 0.228},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("found %v, want %v", c.got, c.want)
		}
	}
	if p := publishedFor("boston"); len(p.printed)+len(p.runs)+len(p.order) > 0 {
		t.Errorf("published numbers of a data set without: %+v", p)
	}
	l := &line{place: place{"VaLLA 100", ""}, paper: "VaLLA 100"}
	if v := l.values("CQM", corrected, air); len(v) != 1 || math.Abs(v[0]-0.059) > 1e-12 {
		t.Errorf("corrected CQM %v, want 0.109 − 0.05", v)
	}
}

// TestFromPaper: rows that are far from the paper's are named.
func TestFromPaper(t *testing.T) {
	diag := &line{place: place{"LLA Diag", "probit"}, paper: "LLA Diag", measured: map[string][]float64{"NLL": {0.143}}}
	kfac := &line{place: place{"LLA KFAC", "probit"}, paper: "LLA KFAC", measured: map[string][]float64{"NLL": {0.0945}}}
	p := publishedFor("mnist") // printed 0.143 and 0.094
	if got := fromPaper([]*line{diag, kfac}, p); !strings.Contains(got, "within 0.01") || !strings.Contains(got, "LLA KFAC, 0.0005") {
		t.Errorf("it says %q", got)
	}
	kfac.measured["NLL"][0] = 0.2
	if got := fromPaper([]*line{diag, kfac}, p); !strings.Contains(got, "LLA KFAC by 0.1060") || strings.Contains(got, "Diag") {
		t.Errorf("it says %q", got)
	}
}

// written returns a report that is written to dir, its page and its Markdown.
func written(t *testing.T, dir string) (r *Report, page, md string) {
	t.Helper()
	leave(t, dir)
	r, err := New(dir, []Known{{Name: "uci", About: "tables"}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range files {
		content, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(content))
	}
	return r, texts[0], texts[1]
}

// TestPage: the page is well-formed, needs nothing from elsewhere, and has every figure.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	_, text, md := written(t, dir)
	if m := regexp.MustCompile(`(?:src|href)="([^#"][^"]*)"|url\(|https?://[^w ]`).FindAllString(text, -1); len(m) != 1 || m[0] != `href="data:,"` {
		t.Errorf("the page refers to %q", m)
	}
	for _, want := range []string{`scope="col"`, `scope="row"`, `scope="colgroup"`, ">missing<", ">too large<", `title="LLA needs 9 bytes"`, "--profile full",
		"where there are no data", "does it overfit", "hold what they promise", "images are turned", "images are corrupted", "How long does a fit take", "Not run", "viewport"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	wellFormed(t, text)
	for _, m := range regexp.MustCompile(`!\[[^]]*\]\(([^)]*)\)`).FindAllStringSubmatch(md, -1) {
		if _, err := os.Stat(filepath.Join(dir, m[1])); err != nil {
			t.Error(err)
		}
	}
	var out bytes.Buffer
	if err := WriteText(&out, dir, "mnist", "quick"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "0.3000 ± 0.1414") {
		t.Errorf("text %s", &out)
	}
}

// wellFormed checks that elements close in the order in which they open.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	text = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(text, "")
	d := xml.NewDecoder(strings.NewReader(text))
	d.Entity = xml.HTMLEntity
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEmpty: a folder without results gives a report that says so.
func TestEmpty(t *testing.T) {
	r, err := New(t.TempDir(), []Known{{Name: "toy", About: "a toy"}})
	if err != nil {
		t.Fatal(err)
	}
	html, err := r.HTML()
	if err != nil || !strings.Contains(string(html), "valla experiment run toy") {
		t.Errorf("error %v, page %.200s", err, html)
	}
}
