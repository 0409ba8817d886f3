package law

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// LeastRows is the smallest number of residuals from which a law is fitted. Fewer residuals give the Gaussian.
const LeastRows = 5

// leastRich is the smallest number of residuals for which a mixture or an own scale is tried.
const leastRich = 60

// largest is the largest magnitude of a residual. The square of a larger number may not be finite.
const largest = 1e100

// folds is the number of ranges of rows in a cross-fit.
const folds = 5

// The choices of [Options.Own].
const (
	OwnChosen = ""    // h(x) if the rows support it
	OwnAlways = "on"  // h(x), if there are at least 60 rows and a feature that varies
	OwnNever  = "off" // no h(x)
)

// Residuals are the standardised residuals of one target on n rows that the posterior was not fitted to, in their own
// order, such as the order of time.
type Residuals struct {
	Z        []float64 // (y − g)/√V of each row [n]
	Features []float64 // D inputs of each row, from which h(x) is fitted [n,D]; may be empty
	// LastIsStd says that the last feature of a row is log √V, so that a law may take back a part of what V says.
	LastIsStd bool
}

// Options are the settings of [Fit]. The zero value chooses the law by the rows.
type Options struct {
	Family string // Gaussian, StudentT or Mixture; "" chooses
	Own    string // OwnChosen, OwnAlways or OwnNever
	Seed   uint64 // seed of the units of h(x)
	// Symmetric says that a t is not skewed, and that a mixture is not chosen: the residuals do not tell how the law is
	// skewed.
	Symmetric bool
	// Surely says that Student's t, with and without an own scale, is taken only if it raises the mean log density by
	// two standard errors: for targets that are an exponential of y, and have no mean under a t.
	Surely bool
}

// Fit fits a law to residuals. The same residuals and options give the same law.
//
// Unless the options name a family, the law is at first Student's t of two pieces, which may be skewed. Its prior leads
// to the Gaussian with few rows, but its tails stay as heavy as the rows permit. For all further choices Fit divides the
// rows into five ranges, and the fit to the others predicts the log densities of a range. If the rows are in the order
// of time, every law has therefore to hold at another time. An own scale h(x), or else a scale that takes back a part of
// what V says, is taken if it raises the mean log density by 1 + 45/n standard errors, where n is the number of rows. A
// mixture must raise it by two standard errors; see [Candidate] and the option Surely. Where the mean residual drifts,
// the law is symmetric; see [Report]. Fewer than [LeastRows] rows give the Gaussian for all options.
func Fit(ctx context.Context, r Residuals, o Options) (Law, Report, error) {
	if err := o.check(); err != nil {
		return Law{}, Report{}, err
	}
	if err := r.check(); err != nil {
		return Law{}, Report{}, err
	}
	if len(r.Z) < LeastRows {
		return Normal(), Report{Rows: len(r.Z)}, nil
	}
	c := newChoice(r, o)
	for _, stage := range []func(){c.tryStudent, c.tryOwn, c.tryLevel, c.tryMixture} {
		if err := ctx.Err(); err != nil {
			return Law{}, Report{}, err
		}
		stage()
	}
	return c.law, c.report, c.law.Check()
}

// check returns an error for an unknown choice.
func (o Options) check() error {
	switch o.Family {
	case "", Gaussian, StudentT, Mixture:
	default:
		return fmt.Errorf("law %q, expected %q, %q, %q or none", o.Family, Gaussian, StudentT, Mixture)
	}
	if o.Family == Gaussian && o.Own == OwnAlways {
		return fmt.Errorf("own scale %q of the law %q, expected another law", o.Own, o.Family)
	}
	switch o.Own {
	case OwnChosen, OwnAlways, OwnNever:
		return nil
	}
	return fmt.Errorf("own scale %q, expected %q, %q or none", o.Own, OwnAlways, OwnNever)
}

// check returns an error if a number is not finite or the features do not belong to the residuals.
func (r Residuals) check() error {
	if n := len(r.Z); len(r.Features) > 0 && (n == 0 || len(r.Features)%n != 0) {
		return fmt.Errorf("%d features of %d residuals, expected the same number for each", len(r.Features), n)
	}
	if i, v := kernel.FirstNonFinite(r.Z); i >= 0 {
		return fmt.Errorf("residual %d is %g, expected a finite number", i, v)
	}
	for i, z := range r.Z {
		if math.Abs(z) > largest {
			return fmt.Errorf("residual %d is %g, expected a number up to %g in magnitude", i, z, largest)
		}
	}
	if i, v := kernel.FirstNonFinite(r.Features); i >= 0 {
		return fmt.Errorf("feature %d of residual %d is %g, expected a finite number", i%(len(r.Features)/len(r.Z)),
			i/(len(r.Features)/len(r.Z)), v)
	}
	return nil
}

// part is a range of rows that a fit leaves out.
type part struct {
	from, to int // first row, and the row after the last
}

// has reports whether row i is in the part.
func (p part) has(i int) bool { return i >= p.from && i < p.to }

// foldsOf returns the parts of n rows.
func foldsOf(n int) (parts [folds]part) {
	for k := range parts {
		parts[k] = part{k * n / folds, (k + 1) * n / folds}
	}
	return parts
}
