package law

import (
	"fmt"
	"math"
	"strings"
)

// Report says which laws a fit tried, on how many rows. If the mean residual drifts from range to range of the rows by
// more than chance, the mean and the skewness of the residuals may be those of a passing time, so the law is symmetric.
type Report struct {
	Rows  int         `json:"rows"`            // number of residuals
	Drift float64     `json:"drift,omitempty"` // variance of the means of five ranges, over the variance for independent rows; 0 unless it is above 8
	Tried []Candidate `json:"tried,omitempty"` // laws in the order of the trials, from the Gaussian; empty for few rows
}

// Candidate is a law that a fit tried. Its log densities are those of z = (y − g)/√V for rows that the law was not
// fitted to, from a cross-fit. Gain is the mean difference to the last law that was taken before. Gain and its
// standard error count one more row, as unfavourable as the most extreme difference: heavy tails make a plain
// standard error too small.
type Candidate struct {
	Name       string  `json:"name"`        // family, with " with own scale" if h(x) belongs to it
	LogDensity float64 `json:"log_density"` // mean log density of a row
	Error      float64 `json:"error"`       // standard error of LogDensity
	Gain       float64 `json:"gain"`        // see above; 0 for the Gaussian
	GainError  float64 `json:"gain_error"`  // standard error of Gain
	Taken      bool    `json:"taken"`       // whether the law replaced the law before
}

// String returns the report in sentences.
func (r Report) String() string {
	if len(r.Tried) == 0 {
		return fmt.Sprintf("The law is the Gaussian: %d held-out rows are fewer than %d.", r.Rows, LeastRows)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Laws of the residuals of %d held-out rows, with their cross-fitted mean log density:", r.Rows)
	if r.Drift > 0 {
		b.WriteString("\nThe mean of the residuals changes along the rows by more than chance, so the law is symmetric.")
	}
	for _, c := range r.Tried {
		fmt.Fprintf(&b, "\n%s %.4f ± %.4f", c.Name, c.LogDensity, c.Error)
		if c.GainError > 0 {
			fmt.Fprintf(&b, ", gain %+.4f ± %.4f", c.Gain, c.GainError)
		}
		if c.Taken {
			b.WriteString(", taken")
		}
	}
	return b.String()
}

// significant reports whether the gain is above two standard errors.
func (c Candidate) significant() bool { return c.Gain > 2*c.GainError }

// compare returns the candidate whose rows have the log densities new, beside those of the law before. A nil before
// means that there is none.
func compare(name string, new, before []float64) Candidate {
	c := Candidate{Name: name}
	c.LogDensity, c.Error = moments(new)
	if before == nil {
		return c
	}
	gains, worst := make([]float64, len(new)+1), 0.0
	for i, v := range new {
		gains[i] = v - before[i]
		worst = max(worst, math.Abs(gains[i]))
	}
	gains[len(new)] = -worst
	c.Gain, c.GainError = moments(gains)
	return c
}
