package calibrate

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-valla/valla/internal/dense"
	"gonum.org/v1/gonum/mathext"
)

// Kinds of doubts about a row, see [Abstain].
const (
	ByUnfamiliar  = "unfamiliar"  // share of the training rows with a smaller epistemic variance
	ByWidth       = "width"       // mean width of the intervals of the targets, in the units of the data
	ByProbability = "probability" // 1 less the probability of the most probable class
)

// Abstain is a rule that says which rows need a look: those whose doubt is larger than a limit.
type Abstain struct {
	By    string  `json:"by"`              // kind of the doubt
	Level float64 `json:"level,omitempty"` // probability of the intervals of ByWidth
	Most  float64 `json:"most"`            // largest doubt of a row that needs no look
	Link  string  `json:"link,omitempty"`  // link of the class probabilities that have chosen; "" in a rule that was given

	// The following fields say how [ControlRisk] has chosen the rule. They are 0 in a rule that was given.
	Risk       float64 `json:"risk,omitempty"`       // largest share of wrong predictions among the accepted rows
	Confidence float64 `json:"confidence,omitempty"` // probability with which the risk holds
	Tolerance  float64 `json:"tolerance,omitempty"`  // largest error of a number that is not wrong; 0: the interval
	Rows       int     `json:"rows,omitempty"`       // number of rows that have chosen
	Accepted   int     `json:"accepted,omitempty"`   // number of these that need no look
}

// rule is the form of a rule as text.
var rule = regexp.MustCompile(`^\s*(unfamiliar|width|probability)([0-9.]*)\s*(<=|>=)\s*(\S+)\s*$`)

// ParseAbstain reads a rule about the rows that need no look: unfamiliar<=0.99, width95<=20 or probability>=0.9. A width without a level has
// the level given.
func ParseAbstain(text string, level float64) (*Abstain, error) {
	bad := fmt.Errorf("the rule %q, expected one such as unfamiliar<=0.99, width95<=20 or probability>=0.9", text)
	m := rule.FindStringSubmatch(text)
	if m == nil || (m[1] == ByProbability) != (m[3] == ">=") || m[2] != "" && m[1] != ByWidth {
		return nil, bad
	}
	limit, err := strconv.ParseFloat(m[4], 64)
	if err != nil {
		return nil, bad
	}
	a := &Abstain{By: m[1], Most: limit}
	switch a.By {
	case ByProbability:
		a.Most = 1 - limit
	case ByWidth:
		a.Level = level
		if m[2] != "" {
			if a.Level, err = strconv.ParseFloat(m[2], 64); err != nil {
				return nil, bad
			}
			a.Level /= 100
		}
	}
	return a, a.Check()
}

// String returns the rule as [ParseAbstain] reads it.
func (a *Abstain) String() string {
	switch a.By {
	case ByProbability:
		return fmt.Sprintf("probability>=%.4g", 1-a.Most)
	case ByWidth:
		return fmt.Sprintf("width%.6g<=%.4g", 100*a.Level, a.Most)
	}
	return fmt.Sprintf("%s<=%.4g", a.By, a.Most)
}

// Check returns an error if the rule makes no sense.
func (a *Abstain) Check() error {
	switch {
	case !slices.Contains([]string{ByUnfamiliar, ByWidth, ByProbability}, a.By):
		return fmt.Errorf("rows that need a look by %q, expected %q, %q or %q", a.By, ByUnfamiliar, ByWidth, ByProbability)
	case !(a.Most-a.Most == 0):
		return fmt.Errorf("rows that need a look by the limit %g, expected a finite number", a.Most)
	case a.By != ByWidth && !(a.Most >= 0 && a.Most <= 1):
		return fmt.Errorf("rows that need a look by %s, expected a limit from 0 to 1", a)
	case a.By == ByWidth && !(a.Level > 0 && a.Level < 1):
		return fmt.Errorf("rows that need a look by intervals of the level %g, expected a probability between 0 and 1", a.Level)
	}
	return nil
}

// starts are the shares of the rows at which sequences of tests begin, and sizes the number of shares that are tested.
var starts = []float64{0, 0.25, 0.5, 0.75}

const sizes = 100

// ControlRisk returns the largest doubt of the rows to accept, so that at most the share risk of accepted new rows is wrong, with the
// probability confidence. doubts [n] and wrong [n] are those of rows that neither training nor fit has used, which are
// exchangeable with new rows; accepted is the number of these rows that are accepted. ok is false if no share of the rows can be accepted: the rows are too few, or too many
// of those with the smallest doubts are wrong.
//
// The method is learn-then-test (Angelopoulos et al. 2021): for shares of the rows from the smallest doubts on, the binomial
// tail tests the hypothesis that the risk is larger. A sequence of tests ends at the first that does not reject. There are
// four sequences, which begin at different shares and have a quarter of 1 − confidence each.
func ControlRisk(doubts []float64, wrong []bool, risk, confidence float64) (most float64, accepted int, ok bool) {
	t := riskTests{risk: risk, each: (1 - confidence) / float64(len(starts)), wrong: make([]int, len(doubts)+1)}
	t.enough = int(math.Ceil(math.Log(t.each) / math.Log1p(-risk)))
	order := dense.Indices(len(doubts))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(doubts[a], doubts[b]) })
	for i, row := range order {
		t.doubts = append(t.doubts, doubts[row])
		t.wrong[i+1] = t.wrong[i]
		if wrong[row] {
			t.wrong[i+1]++
		}
	}
	for _, start := range starts {
		if limit, n := t.sequence(start); n > accepted {
			most, accepted, ok = limit, n, true
		}
	}
	return most, accepted, ok
}

// riskTests are the tests of [ControlRisk].
type riskTests struct {
	risk   float64   // largest share of wrong rows
	each   float64   // error probability of a sequence
	enough int       // fewer rows cannot show the risk
	doubts []float64 // ascending [n]
	wrong  []int     // wrong rows among the first 0, 1 … n
}

// sequence tests shares of the rows from start on. It returns the largest doubt of the largest share that was accepted, and
// the number of its rows, 0 if there is none.
func (t *riskTests) sequence(start float64) (most float64, accepted int) {
	all := len(t.doubts)
	for k := range sizes {
		n := (k + 1) * all / sizes
		if n < t.enough || float64(n) < start*float64(all) {
			continue
		}
		limit := t.doubts[n-1]
		if n < all { // below the doubt of the next row, so that the rows are independent given the limit
			limit = math.Nextafter(t.doubts[n], math.Inf(-1))
			for n > 0 && t.doubts[n-1] > limit {
				n--
			}
		}
		switch {
		case n < t.enough:
		case tail(t.wrong[n], n, t.risk) > t.each:
			return most, accepted
		default:
			most, accepted = limit, n
		}
	}
	return most, accepted
}

// tail returns the probability of at most k of n, where each has the probability p.
func tail(k, n int, p float64) float64 {
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-p)
}
