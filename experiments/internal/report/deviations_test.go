package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/result"
	"github.com/go-valla/valla/internal/figure"
)

// Numbers far from published ones are listed: beyond three standard deviations of the seeds, or
// beyond a limit for each metric where there is one seed.
func TestDeviations(t *testing.T) {
	own := settings("inducing", 100, "optimizer", "adam")
	of := func(metric string, v ...float64) string {
		var cells []*result.Cell
		for i, x := range v {
			cells = append(cells, set(t, cell("mnist", "VaLLA 100", uint64(i), map[string]result.Scores{"probit": {metric: result.Number(x)}}), "valla", own))
		}
		r, err := New("", nil, cells...)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, d := range r.deviations() {
			text = append(text, d.String())
		}
		return strings.Join(text, "\n")
	}
	// The released runs have the NLL 0.0757 and the ECE 0.0103.
	for _, c := range []struct {
		metric string
		v      []float64
		want   string
	}{
		{"NLL", []float64{0.076}, ""}, {"NLL", []float64{0.08}, "mnist, VaLLA 100 probit: NLL 0.0800, released 0.0757"},
		{"NLL", []float64{0.0769, 0.0771}, "mnist, VaLLA 100 probit: NLL 0.0770, released 0.0757"},
		{"NLL", []float64{0.075, 0.079}, ""}, {"ECE", []float64{0.012}, ""},
		{"ECE", []float64{0.014}, "mnist, VaLLA 100 probit: ECE 0.0140, released 0.0103"}, {"ACC", []float64{0.5}, ""},
	} {
		if got := of(c.metric, c.v...); got != c.want {
			t.Errorf("%s %v: %q, expected %q", c.metric, c.v, got, c.want)
		}
	}
}

// Where no run is released, printed numbers count, with what they are rounded by.
func TestDeviationsFromPrinted(t *testing.T) {
	for v, want := range map[float64]string{0.2695: "", 0.28: "cifar10-resnet20, LLA last-layer mc: NLL 0.2800, printed 0.2690"} {
		c := set(t, cell("cifar10-resnet20", "LLA last-layer", 0, map[string]result.Scores{"mc": nll(v)}), "lla", settings("weights", []string{"last-layer"}))
		r, err := New("", nil, c)
		if err != nil {
			t.Fatal(err)
		}
		list := r.deviations()
		if got := len(list); (got == 1) != (want != "") || got == 1 && list[0].String() != want {
			t.Errorf("NLL %v: %v, expected %q", v, list, want)
		}
	}
}

// A deviation comes under the first cause that fits it, and stays without one otherwise.
func TestExplain(t *testing.T) {
	by, err := readCauses([]byte("- {title: a, probs: [mc], metrics: [NLL], text: x}\n- {title: b, data: [mnist], text: y}\n"))
	if err != nil {
		t.Fatal(err)
	}
	groups := explain([]deviation{
		{data: "mnist", place: place{"m", "mc"}, metric: "NLL"}, {data: "mnist", place: place{"m", "mc"}, metric: "ECE"}, {data: "year", metric: "NLL"},
	}, by)
	for i := range groups {
		if len(groups[i]) != 1 {
			t.Errorf("groups %v", groups)
		}
	}
	for _, text := range []string{"- {title: a}", "- {titel: a, text: x}", "- 3", "title: a"} {
		if _, err := readCauses([]byte(text)); err == nil {
			t.Errorf("%s was read", text)
		}
	}
}

// publishedReport is the report of the published cells.
func publishedReport(t *testing.T) *Report {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "results", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %q, error %v", files, err)
	}
	var all []*result.Cell
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		cells, err := result.ReadLines(path, strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cells...)
	}
	r, err := New("", nil, all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The methods that the caption of the bands names have a panel.
func TestCaptionsNameWhatIsShown(t *testing.T) {
	named, found := regexp.MustCompile(`(?:smallest|largest) with (.*?) \(`), 0
	for _, s := range publishedReport(t).Sections {
		for _, d := range s.Data {
			for _, f := range d.Figures {
				if f.Name != "bands" {
					continue
				}
				for _, m := range named.FindAllStringSubmatch(f.Caption, -1) {
					found++
					if !slices.ContainsFunc(f.Charts, func(c figure.Chart) bool { return c.Title == m[1] }) {
						t.Errorf("%s: the caption names %s, which has no panel", d.Table.Title, m[1])
					}
				}
			}
		}
	}
	if found == 0 {
		t.Error("no caption names a method")
	}
}

// Every deviation of the published cells has a cause, and every cause explains a deviation.
func TestCauses(t *testing.T) {
	r := publishedReport(t)
	by, err := readCauses(causes)
	if err != nil {
		t.Fatal(err)
	}
	html, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	wellFormed(t, string(html))
	for _, want := range []string{"<summary>" + by[0].Title, "<dt>" + missingWords()[0].Name, "<code>valla data get</code>", "<dt>CQM</dt>"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	groups := explain(r.deviations(), by)
	for _, d := range groups[len(by)] {
		t.Errorf("causes.yaml has no cause for %s", d)
	}
	for i, c := range by {
		if len(groups[i]) == 0 {
			t.Errorf("causes.yaml: %q explains no deviation", c.Title)
		}
	}
}

// Every item of the list of what is missing has a title and a text, and no mark of Markdown that a
// page would show as it is.
func TestMissing(t *testing.T) {
	words := missingWords()
	if want := strings.Count("\n"+missing, "\n*"); len(words) != want || want == 0 {
		t.Errorf("%d items, expected %d", len(words), want)
	}
	for _, w := range words {
		if html := string(inline(w.Text)); w.Name == "" || w.Text == "" || w.Text != capital(w.Text) || strings.ContainsAny(html, "`*[") {
			t.Errorf("item %q: %s", w.Name, html)
		}
	}
	if r, err := New("", nil); err != nil || r.Missing() != nil {
		t.Errorf("a report without published cells says what these lack; error %v", err)
	}
}
