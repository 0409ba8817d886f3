package figure

import (
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// ticks are the ticks of the library with enough digits to tell them apart, and without zeros at
// the end. The library gives all ticks of a narrow range the same label.
type ticks struct{}

// Ticks implements plot.Ticker.
func (ticks) Ticks(lo, hi float64) []plot.Tick {
	all := plot.DefaultTicks{}.Ticks(lo, hi)
	for i, t := range all {
		if strings.Contains(t.Label, ".") && !strings.Contains(t.Label, "e") {
			all[i].Label = strings.TrimRight(strings.TrimRight(t.Label, "0"), ".")
		}
	}
	for digits := 2; digits < 16 && repeated(all); digits++ {
		for i, t := range all {
			if t.Label != "" {
				all[i].Label = strconv.FormatFloat(t.Value, 'g', digits, 64)
			}
		}
	}
	return all
}

// repeated reports whether two ticks have the same label.
func repeated(all []plot.Tick) bool {
	seen := map[string]bool{"": false}
	for _, t := range all {
		if seen[t.Label] {
			return true
		}
		seen[t.Label] = t.Label != ""
	}
	return false
}

// powerTicks are the library's ticks of a logarithmic axis from one power of ten to another. The library
// rounds the logarithm of 0.1 to more than −1 and cuts it to 0, and it goes beyond the end of the axis.
type powerTicks struct{}

// Ticks implements plot.Ticker.
func (powerTicks) Ticks(lo, hi float64) []plot.Tick {
	return slices.DeleteFunc(plot.LogTicks{Prec: -1}.Ticks(lo*(1-1e-9), hi), func(t plot.Tick) bool {
		return t.Value < lo*(1-1e-9) || t.Value > hi*(1+1e-9)
	})
}
