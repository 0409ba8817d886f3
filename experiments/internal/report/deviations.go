package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// causes says why measured numbers differ from published numbers.
//
//go:embed causes.yaml
var causes []byte

// cause explains the deviations that fit it. A list that is empty fits all.
type cause struct {
	Title   string   `yaml:"title"`   // the heading of the cause
	Data    []string `yaml:"data"`    // names of data sets
	Methods []string `yaml:"methods"` // as the tables here name them
	Probs   []string `yaml:"probs"`   // kinds of class probabilities, "" for regression
	Metrics []string `yaml:"metrics"` // names of metrics
	Text    string   `yaml:"text"`    // the explanation, in Markdown
}

// readCauses reads a list of causes. Their keys must be known.
func readCauses(text []byte) (list []cause, err error) {
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&list); err != nil {
		return nil, fmt.Errorf("report: causes.yaml: %w", err)
	}
	for i, c := range list {
		if c.Title == "" || c.Text == "" {
			return nil, fmt.Errorf("report: causes.yaml: cause %d, expected a title and a text", i+1)
		}
	}
	return list, nil
}

// fits reports whether a cause explains a deviation.
func (c cause) fits(d deviation) bool {
	in := func(list []string, v string) bool { return len(list) == 0 || slices.Contains(list, v) }
	return in(c.Data, d.data) && in(c.Methods, d.method) && in(c.Probs, d.probs) && in(c.Metrics, d.metric)
}

// deviation is a measured number that is far from the published one.
type deviation struct {
	data string // the name of the data set
	place
	metric, source  string  // the metric, and where the published number comes from
	published, here float64 // the published number, and the mean over our seeds
}

func (d deviation) String() string {
	return fmt.Sprintf("%s, %s %s: %s %s, %s %s", d.data, d.method, d.probs, d.metric, format(d.here, 4), d.source, format(d.published, 4))
}

// oneSeed is the difference of a metric that is worth a word where one seed was run. For the
// NLL it is a fraction.
var oneSeed = map[string]float64{"NLL": 0.01, "ECE": 0.003, "CQM": 0.005, "OOD-AUC": 0.01}

// far reports whether the difference of a measured metric from a published number is worth a word: more
// than three standard deviations over seeds, or oneSeed where there are not two seeds; and
// always more than published numbers are rounded by.
func far(metric string, measured []float64, published float64) bool {
	mean, std := moments(measured)
	limit := 3 * std
	if len(measured) < 2 {
		limit = oneSeed[metric]
		if metric == "NLL" {
			limit *= math.Abs(published)
		}
	}
	return math.Abs(mean-published) > max(limit, 5e-4)+1e-9
}

// deviations lists the numbers that are far from the released runs, or from the printed numbers
// where no run is released.
func (r *Report) deviations() (list []deviation) {
	for _, e := range r.merged {
		for _, data := range e.Data {
			p := publishedFor(data)
			for _, l := range gather(e.Found, data) {
				for _, metric := range compared {
					list = append(list, l.deviations(data, metric, p)...)
				}
			}
		}
	}
	return list
}

// deviations returns the deviation of a metric in a list, which is empty without a deviation.
func (l *line) deviations(data, metric string, p *published) []deviation {
	got := l.measured[metric]
	for _, source := range []string{runs, corrected, printed} {
		want := l.values(metric, source, p)
		if want == nil || len(got) == 0 {
			continue
		}
		if !far(metric, got, want[0]) {
			return nil
		}
		return []deviation{{data, l.place, metric, source, want[0], l.average(metric)}}
	}
	return nil
}

// explain groups deviations by their causes. The last group has those without a cause.
func explain(list []deviation, by []cause) [][]deviation {
	groups := make([][]deviation, len(by)+1)
	for _, d := range list {
		i := slices.IndexFunc(by, func(c cause) bool { return c.fits(d) })
		if i < 0 {
			i = len(by)
		}
		groups[i] = append(groups[i], d)
	}
	return groups
}

// Explained holds the deviations with one cause.
type Explained struct {
	Title, Text string     // the cause, and its explanation in Markdown
	Rows        [][]string // below deviationHead
}

var deviationHead = []string{"data", "method", "probs", "metric", "published", "measured"}

// deviationText says which numbers are listed.
const deviationText = "This section lists measured numbers that differ from the means of the released runs, or from the printed numbers if no run is released. " +
	"The difference is more than three standard deviations over seeds; with one seed, more than 1 % of the NLL, 0.003 of the ECE, 0.005 of the CQM or 0.01 of the OOD-AUC."

// Explained returns the deviations under their causes.
func (r *Report) Explained() (out []Explained, err error) {
	by, err := readCauses(causes)
	if err != nil {
		return nil, err
	}
	groups := explain(r.deviations(), by)
	for i, c := range append(by, cause{Title: "Cause unknown"}) {
		e := Explained{Title: c.Title, Text: strings.TrimSpace(c.Text)}
		for _, d := range groups[i] {
			digits := 4
			if d.source != runs {
				digits = 3
			}
			e.Rows = append(e.Rows, []string{d.data, d.method, d.probs, d.metric, format(d.published, digits) + ", " + d.source, format(d.here, 4)})
		}
		if e.Rows != nil {
			out = append(out, e)
		}
	}
	return out, nil
}

// writeDeviations writes the deviations under their causes.
func (r *Report) writeDeviations(b *strings.Builder) error {
	list, err := r.Explained()
	if err != nil {
		return err
	}
	b.WriteString("\n## Deviations from published numbers\n\n" + deviationText + "\n")
	for _, e := range list {
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s", e.Title, e.Text, plainTable(deviationHead, e.Rows))
	}
	return nil
}
