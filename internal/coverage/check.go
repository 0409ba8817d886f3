package coverage

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-valla/valla/gp/task"
)

// Check finds levels that the intervals of a regression do not hold. The zero value is ready to use.
type Check struct {
	rows    int                 // rows so far
	whole   bool                // targets are whole numbers, whose intervals may hold more than their level
	tallies [len(checked)]Tally // one for each level
}

// checked are the levels of a Check.
var checked = [3]float64{0.5, 0.8, 0.95}

// certain is how many standard errors a share must differ from its level. Where three levels hold, one of them differs by
// more in one of 20 tables.
const certain = 2.4

// Add counts the rows of a prediction for the targets y, see [Tally.Add]. A conformal calibration by few rows, which has
// no intervals of a level, has nothing to count at this level.
func (c *Check) Add(p *task.Prediction, y []float64) error {
	if p.Classes != nil {
		return nil
	}
	c.rows, c.whole = c.rows+p.N(), p.Whole()
	for i, level := range checked {
		c.tallies[i].Level = level
		if err := c.tallies[i].Add(p, y); err != nil && p.Conformal == nil {
			return err
		}
	}
	return nil
}

// String names the levels that are not held, such as "50 % intervals hold 39.5 %, 80 % intervals hold 73.0 %"; it is ""
// where they are held as far as the rows tell. Targets of one row may depend on each other, so that rows count.
func (c *Check) String() string {
	var off []string
	for i, level := range checked {
		share, _ := c.tallies[i].Means()
		if share == nil {
			continue
		}
		d := *share - level
		if c.whole {
			d = min(d, 0)
		}
		if math.Abs(d) > certain*math.Sqrt(level*(1-level)/float64(c.rows)) {
			off = append(off, fmt.Sprintf("%g %% intervals hold %.1f %%", 100*level, 100**share))
		}
	}
	return strings.Join(off, ", ")
}
