package law

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/internal/kernel"
)

// leastLevel is the smallest number of residuals for which a level is tried.
const leastLevel = 20

// levels are the shares of log √V that a level takes back. With the share 1 all rows have one scale, as the network
// alone has it, within the range of √V among the rows of the fit.
var levels = []float64{0.5, 1}

// tryLevel takes back a share of what V says, by the own scale h(x) = −share·log √V, if that raises the log density:
// there are posteriors whose variances are worse than one variance for all rows. Beyond the range of √V in the fit the
// scale of the target grows with √V as without the law.
func (c *choice) tryLevel() {
	o := c.options
	if c.law.Own != nil || o.Own != OwnChosen || o.Family == Gaussian || !c.residuals.LastIsStd || len(c.scaled) < leastLevel {
		return
	}
	for _, share := range levels {
		own := c.residuals.level(share)
		h := make([]float64, len(c.scaled))
		for i := range h {
			h[i] = own.at(c.residuals.row(i))
		}
		name := fmt.Sprintf("%s with %g of the standard deviation taken back", StudentT, share)
		c.try(name, h, false, func() *OwnScale { return own })
	}
}

// row returns the features of row i.
func (r Residuals) row(i int) []float64 {
	d := len(r.Features) / len(r.Z)
	return r.Features[i*d : (i+1)*d]
}

// level returns the own scale h(x) = −share·(u − mean of u), where u is the last feature.
func (r Residuals) level(share float64) *OwnScale {
	n := len(r.Z)
	d := len(r.Features) / n
	o := &OwnScale{
		Mean: make([]float64, d), Inverse: make([]float64, d), Linear: make([]float64, d),
		Inputs: []int{}, Slopes: []float64{}, Bias: []float64{}, Output: []float64{}, Lowest: math.Inf(1), Highest: math.Inf(-1),
	}
	u := make([]float64, n)
	for i := range u {
		u[i] = r.row(i)[d-1]
	}
	o.Mean[d-1] = kernel.Mean(u)
	far := 0.0
	for _, v := range u {
		far = max(far, math.Abs(v-o.Mean[d-1]))
	}
	if far == 0 {
		o.Lowest, o.Highest = 0, 0
		return o
	}
	o.Inverse[d-1], o.Linear[d-1] = bound/far, -share*far/bound
	for _, v := range u {
		h := -share * (v - o.Mean[d-1])
		o.Lowest, o.Highest = min(o.Lowest, h), max(o.Highest, h)
	}
	return o
}
