package law

import "github.com/go-valla/valla/internal/kernel"

// mostDrift is the largest drift that counts as chance: of independent rows, about one set in 10,000 has a larger one.
const mostDrift = 8

// driftOf returns how much more the means of the parts vary than the means of as many independent values: Fisher's F.
func driftOf(v []float64, parts [folds]part) float64 {
	mean, between, within := kernel.Mean(v), 0.0, 0.0
	for _, p := range parts {
		m := kernel.Mean(v[p.from:p.to])
		between += float64(p.to-p.from) * (m - mean) * (m - mean)
		for _, x := range v[p.from:p.to] {
			within += (x - m) * (x - m)
		}
	}
	if within == 0 {
		return 1
	}
	return between / (folds - 1) / (within / float64(len(v)-folds))
}
