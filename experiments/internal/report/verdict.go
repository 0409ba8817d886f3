package report

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// verdicts returns sentences about the table of a data set. They compare VaLLA with MAP and
// with last-layer LLA, and the rows of the LLA family with the printed rows.
func verdicts(lines []*line, p *published) []string {
	var out []string
	for _, metric := range []string{"NLL", "CQM"} {
		if s := against(lines, metric); s != "" {
			out = append(out, s)
		}
	}
	if s := fromPaper(lines, p); s != "" {
		out = append(out, s)
	}
	return out
}

// average returns the mean of the measured values of a line, NaN if there are none.
func (l *line) average(metric string) float64 { return stat.Mean(l.measured[metric], nil) }

// against compares the best row of VaLLA with MAP and with last-layer LLA. Classes have
// probit probabilities here.
func against(lines []*line, metric string) string {
	var best *line
	for _, l := range lines {
		if strings.HasPrefix(l.method, "VaLLA") && l.probs != "mc" && !math.IsNaN(l.average(metric)) && (best == nil || l.average(metric) < best.average(metric)) {
			best = l
		}
	}
	var parts []string
	for _, l := range lines {
		if best == nil || l.probs == "mc" || l.method != "MAP" && l.method != "LLA last-layer" || math.IsNaN(l.average(metric)) {
			continue
		}
		word := "better"
		d := l.average(metric) - best.average(metric)
		if d < 0 {
			word = "worse"
		}
		parts = append(parts, fmt.Sprintf("%s %s than %s (%s)", format(math.Abs(d), 4), word, l.method, format(l.average(metric), 4)))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s has %s, %s.", metric, best.method, format(best.average(metric), 4), strings.Join(parts, " and "))
}

// near is the largest difference in NLL from the paper that is not mentioned.
const near = 0.01

// fromPaper compares the NLL of the LLA family with the printed one.
func fromPaper(lines []*line, p *published) string {
	var far []string
	most, where := 0.0, ""
	for _, l := range lines {
		want := l.values("NLL", printed, p)
		if !strings.HasPrefix(l.method, "LLA") || want == nil || math.IsNaN(l.average("NLL")) {
			continue
		}
		d := math.Abs(l.average("NLL") - want[0])
		if d >= most {
			most, where = d, l.method
		}
		if d > near {
			far = append(far, fmt.Sprintf("%s by %s", l.method, format(d, 4)))
		}
	}
	switch {
	case where == "":
		return ""
	case far == nil:
		return fmt.Sprintf("Every row of the LLA family that was run is within %g of the printed NLL; the farthest is %s, %s from it.", near, where, format(most, 4))
	}
	return fmt.Sprintf("Rows of the LLA family that are more than %g from the printed NLL: %s.", near, strings.Join(far, ", "))
}
