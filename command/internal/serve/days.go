package serve

import (
	"fmt"

	"github.com/go-valla/valla/internal/audit"
)

// day sums up the labels of a day.
type day struct {
	Day    int64   `json:"day"`              // days since 1970, in UTC
	Labels int     `json:"labels"`           // labels of the day
	Inside int     `json:"inside"`           // those inside their intervals
	Width  float64 `json:"width"`            // sum of the widths of the intervals
	Counts [][]int `json:"counts,omitempty"` // rows by input and bin [D][bins]; nil: the bins are not known
}

const (
	mostDays   = 56     // days that are kept
	dayLength  = 86_400 // seconds
	driftDays  = 7      // days whose rows are compared with the training
	fewestRows = 200    // least rows that are compared with the training
)

// count adds a label to its day. A clock that goes back does not.
func (o *outcomes) count(line outcome, inside bool) {
	at := line.Time / dayLength
	if n := len(o.days); n == 0 || o.days[n-1].Day < at {
		o.days = append(o.days, day{Day: at})
		if len(o.days) > mostDays {
			o.days = o.days[1:]
		}
	}
	d := &o.days[len(o.days)-1]
	if d.Labels++; inside {
		d.Inside++
	}
	if sum := d.Width + line.Width; sum-sum == 0 {
		d.Width = sum
	}
	if o.train == nil || len(line.X) != len(o.train.train) {
		return
	}
	if d.Counts == nil {
		for _, p := range o.train.train {
			d.Counts = append(d.Counts, make([]int, len(p.Shares)))
		}
	}
	for j, x := range line.X {
		d.Counts[j][o.train.train[j].Bin(x)]++
	}
}

// checkDays returns an error if the days of a file cannot be those of the model.
func (o *outcomes) checkDays() error {
	if len(o.days) > mostDays {
		return fmt.Errorf("%d days, expected at most %d", len(o.days), mostDays)
	}
	for _, d := range o.days {
		ok := d.Counts == nil || o.train != nil && len(d.Counts) == len(o.train.train)
		for j := 0; ok && j < len(d.Counts); j++ {
			ok = len(d.Counts[j]) == len(o.train.train[j].Shares)
		}
		if !ok || d.Inside < 0 || d.Labels < d.Inside {
			return fmt.Errorf("day %d: %d of %d labels inside, %d inputs, expected those of the model", d.Day, d.Inside, d.Labels, len(d.Counts))
		}
	}
	return nil
}

// psi returns the population stability index of each input [D] for the labels of the days from first to last, and the number of their
// rows; nil if these are fewer than 200.
func (o *outcomes) psi(first, last int64) (out []float64, rows int) {
	if o.train == nil {
		return nil, 0
	}
	sums := make([][]float64, len(o.train.train))
	for j, p := range o.train.train {
		sums[j] = make([]float64, len(p.Shares))
	}
	for _, d := range o.days {
		if d.Day < first || d.Day > last || d.Counts == nil {
			continue
		}
		rows += d.Labels
		for j, counts := range d.Counts {
			for k, n := range counts {
				sums[j][k] += float64(n)
			}
		}
	}
	if rows < fewestRows {
		return nil, rows
	}
	for j, p := range o.train.train {
		for k := range sums[j] {
			sums[j][k] /= float64(rows)
		}
		out = append(out, audit.PSI(p.Shares, sums[j]))
	}
	return out, rows
}
