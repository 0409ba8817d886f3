package assess

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/internal/audit"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
)

// Rule is a demand on the predictions, such as coverage95>=0.93.
type Rule struct {
	Text  string  // the rule as it was given
	name  string  // name of a measure
	level float64 // level of its intervals; 0: none
	more  bool    // whether the measure must not be smaller than the limit, else not larger
	limit float64 // limit
	than  string  // what the measure is compared with, "map" or "scalar"; "": with the limit
}

// Verdicts on rules.
const (
	Holds      = "holds"       // all of the bounds are on the right side of the limit
	Fails      = "fails"       // all of the bounds are on the wrong side
	CannotTell = "cannot tell" // the limit lies between the bounds
)

// Judged is a rule with what was found.
type Judged struct {
	Rule    string   `json:"rule"`            // the rule as it was given
	Value   *float64 `json:"value"`           // estimate; nil if there is none
	Lower   *float64 `json:"lower"`           // lower bound, with a probability of 95 % together with the upper one
	Upper   *float64 `json:"upper"`           // upper bound
	Verdict string   `json:"verdict"`         // holds, fails or cannot tell
	About   string   `json:"about,omitempty"` // what the value is, where the rule does not say so
}

// String returns a line about the rule.
func (j Judged) String() string {
	found := "nothing was found"
	if j.Value != nil {
		found = fmt.Sprintf("found %.4g", *j.Value)
		if j.Lower != nil && *j.Lower < *j.Upper {
			found += fmt.Sprintf(" (%.4g to %.4g)", *j.Lower, *j.Upper)
		}
	}
	if j.About != "" {
		found += ", " + j.About
	}
	return fmt.Sprintf("%s: %s: %s", j.Rule, found, j.Verdict)
}

// form is the form of a rule: measure, relation and limit.
var form = regexp.MustCompile(`^\s*([a-zA-Z_]+?[a-zA-Z_0-9.]*?)\s*(>=|<=)\s*(\S+)\s*$`)

// levelled are the measures of intervals, whose names end with a level in percent.
var levelled = regexp.MustCompile(`^(coverage|worst_slice|width)([0-9.]*)$`)

// ParseRules reads rules. A measure without a level has the level given.
func ParseRules(list []string, level float64) ([]Rule, error) {
	var out []Rule
	for _, text := range list {
		parts := form.FindStringSubmatch(text)
		if parts == nil {
			return nil, settings.Errorf("require: %q, expected a rule such as coverage95>=0.93 or nll<=map", text)
		}
		r := Rule{Text: strings.ReplaceAll(text, " ", ""), name: strings.ToLower(parts[1]), more: parts[2] == ">="}
		if m := levelled.FindStringSubmatch(r.name); m != nil {
			var err error
			if r.name, r.level = m[1], level; m[2] != "" {
				r.level, err = strconv.ParseFloat(m[2], 64)
				r.level /= 100
			}
			if err != nil || !(r.level > 0 && r.level < 1) {
				return nil, settings.Errorf("require: %q, expected a level between 0 and 100 percent in %s", text, parts[1])
			}
		}
		limit, err := strconv.ParseFloat(parts[3], 64)
		switch than := strings.ToLower(parts[3]); {
		case err == nil && kernel.Finite(limit):
			r.limit = limit
		case r.name == "nll" && !r.more && (than == "map" || than == "scalar"):
			r.than = than
		default:
			return nil, settings.Errorf("require: %q, expected a number after %s; only nll<=map and nll<=scalar compare with the network alone, as it is or with the best single number", text, parts[2])
		}
		out = append(out, r)
	}
	return out, nil
}

// judge returns what is found about a rule.
func (s subject) judge(r Rule, found *audit.Result) (Judged, error) {
	m, about, err := s.measure(r, found)
	if err != nil {
		return Judged{}, err
	}
	j := Judged{Rule: r.Text, About: about, Verdict: CannotTell}
	if !kernel.Finite(m.Value) {
		return j, nil
	}
	j.Value = &m.Value
	if !kernel.Finite(m.Lower) || !kernel.Finite(m.Upper) {
		return j, nil
	}
	j.Lower, j.Upper = &m.Lower, &m.Upper
	low, high := m.Lower >= r.limit, m.Upper < r.limit // of a rule >=
	if !r.more {
		low, high = m.Upper <= r.limit, m.Lower > r.limit
	}
	switch {
	case low:
		j.Verdict = Holds
	case high:
		j.Verdict = Fails
	}
	return j, nil
}

// measure returns the measure of a rule, and what it is where the rule does not say so.
func (s subject) measure(r Rule, found *audit.Result) (audit.Measure, string, error) {
	none := audit.Measure{Value: math.NaN()}
	switch r.name {
	case "coverage":
		inside, err := s.is.held(r.level)
		return audit.Share(kernel.Sum(inside), len(inside)), "", err
	case "width":
		m, err := s.width(r.level)
		return m, "", err
	case "worst_slice":
		return s.worstSlice(r.level, found)
	case "psi":
		if len(found.Drifts) == 0 {
			return none, "the model file holds no inputs of the training", nil
		}
		return found.Drifts[0].PSI, found.Drifts[0].Name, nil
	case "findings":
		n := float64(len(found.Findings))
		return audit.Measure{Value: n, Lower: n, Upper: n}, "", nil
	}
	if r.than != "" {
		return s.against(r.than)
	}
	for _, v := range slices.Concat(s.is.scores.List, s.is.scores.More) {
		if strings.EqualFold(strings.ReplaceAll(v.Name, " ", "_"), r.name) {
			return audit.Around(v.Value, v.StandardError), "", nil
		}
	}
	return none, "", settings.Errorf("require: %q: the rows have no measure %s, expected %s", r.Text, r.name, s.names())
}

// names returns the names of the measures.
func (s subject) names() string {
	names := []string{"coverage95", "worst_slice", "width95", "psi", "findings"}
	for _, v := range slices.Concat(s.is.scores.List, s.is.scores.More) {
		names = append(names, strings.ToLower(strings.ReplaceAll(v.Name, " ", "_")))
	}
	return strings.Join(names, ", ")
}

// width returns the mean width of intervals, or the mean size of sets.
func (s subject) width(level float64) (audit.Measure, error) {
	if s.is.p.Classes != nil {
		sets, err := s.is.p.Sets(level)
		sizes := make([]float64, len(sets))
		for i, set := range sets {
			sizes[i] = float64(len(set))
		}
		if err != nil {
			return audit.Measure{}, err
		}
		return audit.Mean(sizes), nil
	}
	lower, upper, err := s.is.p.IntervalAt(s.is.y, level)
	if err != nil {
		return audit.Measure{}, err
	}
	kernel.Sub(upper, upper, lower)
	rows := make([]float64, s.set.N())
	for i, w := range upper {
		rows[i/len(s.is.p.Targets)] += w / float64(len(s.is.p.Targets))
	}
	return audit.Mean(rows), nil
}

// worstSlice returns the coverage of the worst slice at a level, and its name.
func (s subject) worstSlice(level float64, found *audit.Result) (audit.Measure, string, error) {
	if level != s.level {
		r, err := s.rows(level)
		if err != nil {
			return audit.Measure{}, "", err
		}
		if found, err = audit.Run(r); err != nil {
			return audit.Measure{}, "", err
		}
	}
	if found.Compared == 0 {
		return found.Worst, "too few rows for slices of 200", nil
	}
	return found.Worst, found.WorstName, nil
}

// against returns how much larger the mean NLL is than with the network alone, as it is or with the best temperature.
func (s subject) against(than string) (audit.Measure, string, error) {
	other, name := s.all[0], "with the network as it is, "+s.all[0].Name
	if than == "scalar" {
		at := slices.IndexFunc(s.all, func(c candidate) bool { return c.order != nil })
		if at < 0 {
			return audit.Measure{Value: math.NaN()}, "there is no temperature", nil
		}
		other, name = s.all[at], "with "+s.all[at].Name
	}
	nlls, err := s.nllsOf(other)
	if err != nil {
		return audit.Measure{}, "", err
	}
	mean, standard := kernel.MeanDifference(s.nlls, nlls)
	return audit.Around(mean, standard), fmt.Sprintf("the NLL less the NLL %s, %.4f − %.4f", name, kernel.Mean(s.nlls), kernel.Mean(nlls)), nil
}

// nllsOf returns the NLLs of the rows with a candidate, in the order of the rows.
func (s subject) nllsOf(c candidate) ([]float64, error) {
	y := s.set.Y
	if c.order != nil {
		y = s.set.Rows(c.order).Y
	}
	nlls, err := s.m.Task.NLLs(c.p, y)
	if err != nil || c.order == nil {
		return nlls, err
	}
	out := make([]float64, len(nlls))
	for k, row := range c.order {
		out[row] = nlls[k]
	}
	return out, nil
}
