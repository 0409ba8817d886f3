package honest

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// Table measures networks by all criteria and returns one table for each method, in
// Markdown. progress is called with a text about each measurement.
func Table(ctx context.Context, cases []*Case, progress func(string)) (string, error) {
	var b strings.Builder
	for _, m := range []Method{VaLLA, KFAC, Full} {
		fmt.Fprintf(&b, "### %s\n\n| network | MAP | constant |", m)
		for _, by := range m.Criteria() {
			fmt.Fprintf(&b, " %s |", by)
		}
		fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("--:|", 2+len(m.Criteria())))
		for _, c := range cases {
			if m == Full && c.Large() {
				continue
			}
			progress(fmt.Sprintf("%s of %s", m, c.Name))
			line, err := c.line(ctx, m)
			if err != nil {
				return "", err
			}
			b.WriteString(line)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// Large says that full LLA of the network takes too long for a table.
func (c *Case) Large() bool { return c.Train.N() > 400 }

// line returns the line of a network.
func (c *Case) line(ctx context.Context, m Method) (string, error) {
	scores := []func() (Score, error){
		func() (Score, error) { return c.MAP(ctx) },
		func() (Score, error) { return c.Constant(ctx) },
	}
	for _, by := range m.Criteria() {
		scores = append(scores, func() (Score, error) { return c.Fit(ctx, m, by) })
	}
	line := "| " + c.Name + " |"
	for i, of := range scores {
		s, err := of()
		if err != nil {
			return "", err
		}
		line += " " + number(s.NLL)
		if i == 0 {
			line += " ± " + number(s.Error)
		}
		line += " |"
	}
	return line + "\n", nil
}

// number writes large numbers short.
func number(v float64) string {
	if math.Abs(v) >= 1000 {
		return fmt.Sprintf("%.1e", v)
	}
	return fmt.Sprintf("%.3f", v)
}
