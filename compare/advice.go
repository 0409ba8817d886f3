package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/internal/kernel"
)

// conclude sorts the results and recommends a result.
func (c *Comparison) conclude() {
	if len(c.Results) == 0 {
		c.Advice = "Nothing has finished."
		return
	}
	slices.SortStableFunc(c.Results, func(a, b Result) int { return cmp.Compare(a.NLL, b.NLL) })
	best := c.Results[0]
	for i := range c.Results {
		r := &c.Results[i]
		r.Behind, r.BehindError = kernel.MeanDifference(r.nlls, best.nlls)
	}
	take := c.simplest(best)
	c.Recommended, c.Advice = take.Name, c.advice(take, best)+c.narrower(take)
}

// enough is how many standard errors tell two contenders apart.
const enough = 2

// little is the loss in nats for a row that a simpler contender may have. See docs/choose.md for how far what the rule recommends
// is behind on fresh rows.
const little = 0.02

// simplest returns the simplest result of which the rows say that it loses little against the anchor: that the loss and twice its
// standard error stay below [little]. Few rows say that of none, and the anchor is taken.
func (c *Comparison) simplest(best Result) Result {
	anchor := c.anchor(best)
	near := func(r Result) bool {
		loss, by := kernel.MeanDifference(r.nlls, anchor.nlls)
		return loss+enough*by <= little
	}
	for _, r := range c.free() {
		if c.holds(r) && near(r) {
			return r
		}
	}
	take := anchor
	for _, r := range c.Results {
		if r.simpler == fitted && c.holds(r) && near(r) && r.cheaper(take) {
			take = r
		}
	}
	return take
}

// anchor returns the result that is taken unless the rows speak for another: that of the default method, unless the intervals of this do not
// hold or another result is better by two standard errors. On small tables the best of many lines is the best by luck.
func (c *Comparison) anchor(best Result) Result {
	if !c.holds(best) {
		if i := slices.IndexFunc(c.Results, c.holds); i >= 0 {
			best = c.Results[i]
		}
	}
	i := slices.IndexFunc(c.Results, func(r Result) bool { return r.Name == method.Default })
	if i < 0 || !c.holds(c.Results[i]) {
		return best
	}
	if loss, by := kernel.MeanDifference(c.Results[i].nlls, best.nlls); loss > max(enough*by, valla.LeastDifference) {
		return best
	}
	return c.Results[i]
}

// free returns the network alone and its calibrations, the preferred result first: the network alone,
// unless a calibration is better by more than a standard error. A conformal calibration is left out, because
// its NLL is the NLL of the model that it calibrates.
func (c *Comparison) free() (out []Result) {
	for _, name := range []string{networkAlone, valla.CalibrateTemperature, valla.CalibrateVector, valla.CalibrateLaw} {
		i := slices.IndexFunc(c.Results, func(r Result) bool { return r.Name == name })
		if i < 0 {
			continue
		}
		at := len(out)
		if r := c.Results[i]; at > 0 {
			if worse, by := kernel.MeanDifference(out[0].nlls, r.nlls); worse > max(by, valla.LeastDifference) {
				at = 0
			}
		}
		out = slices.Insert(out, at, c.Results[i])
	}
	return out
}

// much is how many times cheaper a posterior must be to be preferred to a posterior with a smaller NLL.
const much = 4

// cheaper reports whether the fit of r takes much less processor time than the fit of another result, where a second
// counts as nothing, and a prediction not much more time.
func (r Result) cheaper(than Result) bool {
	return much*max(1, r.FitCPU) < than.FitCPU && r.MicrosPerRow < much*max(1, than.MicrosPerRow)
}

// holds reports whether the intervals of a result hold their level, as far as the rows tell. The NLL alone
// would not show it: a row that lies far outside has too much weight in it.
func (c *Comparison) holds(r Result) bool {
	return r.Name == valla.CalibrateConformal || r.Coverage == nil || *r.Coverage >= c.enoughInside()
}

// enoughInside returns the share of the targets inside of intervals that hold their level, as far as the rows tell: fewer are
// less probable than a Gaussian below two standard errors. Few rows need the binomial distribution for this: of eight rows six
// may lie inside of intervals of 95 %, and the standard error of a share would ask for seven. The share lies half a row below the
// least number of rows, so that rounding decides nothing.
func (c *Comparison) enoughInside() float64 {
	inside, least := distuv.Binomial{N: float64(c.Rows), P: c.Level}, 0
	for least < c.Rows && inside.CDF(float64(least)) <= math.Erfc(enough/math.Sqrt2)/2 {
		least++
	}
	return (float64(least) - 0.5) / float64(c.Rows)
}

// advice returns the recommendation in a sentence.
func (c *Comparison) advice(take, best Result) string {
	text := fmt.Sprintf("Take %s: ", take.title())
	rival := c.rival(take)
	switch {
	case take.Name != best.Name:
		text += fmt.Sprintf("it does as well as %s, whose NLL is smaller by %.3g ± %.2g", best.title(), take.Behind, take.BehindError)
		if !c.holds(best) {
			text += c.insideOf(best)
		}
	case rival == nil:
		text += "nothing else has finished"
	default:
		text += fmt.Sprintf("its NLL is smaller than that of %s by %.3g ± %.2g", rival.title(), rival.Behind, rival.BehindError)
		if !c.holds(*rival) {
			text += c.insideOf(*rival)
		}
	}
	if take.FitSeconds < best.FitSeconds/2 && best.FitSeconds > 1 {
		text += fmt.Sprintf(", in %s instead of %s", seconds(take.FitSeconds), seconds(best.FitSeconds))
	}
	for _, r := range retrained {
		if r.name == take.Name {
			text += "; no posterior is needed, but " + r.but
		}
	}
	if c.Seen {
		text += "; but the network may have been trained on the rows that judge, which favours small error bars"
	}
	return text + "."
}

// insideOf tells the share of the targets in the intervals of a result.
func (c *Comparison) insideOf(r Result) string {
	return fmt.Sprintf(", whose %g %% intervals hold %.1f %%", 100*c.Level, 100**r.Coverage)
}

// rival returns the best result that is simpler than another one, or else the best other result; nil where
// there is no other result.
func (c *Comparison) rival(of Result) *Result {
	var other *Result
	for i := range c.Results {
		r := &c.Results[i]
		switch {
		case r.Name == of.Name || r.Name == valla.CalibrateConformal:
		case r.simpler < of.simpler:
			return r
		case other == nil:
			other = r
		}
	}
	return other
}

// title names a result in a sentence.
func (r Result) title() string {
	switch r.Name {
	case networkAlone:
		return "the network alone"
	case valla.CalibrateTemperature:
		return "temperature scaling"
	case valla.CalibrateVector:
		return "vector scaling"
	case valla.CalibrateLaw:
		return "the network alone with a law of its residuals"
	}
	if slices.ContainsFunc(retrained, func(one again) bool { return one.name == r.Name }) {
		return "a " + r.Label
	}
	return r.Label
}

// seconds writes a duration with few digits.
func seconds(s float64) string {
	switch {
	case s < 0.1:
		return "less than 0.1 s"
	case s < 10:
		return fmt.Sprintf("%.1f s", s)
	case s < 120:
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.1f min", s/60)
}
