package laplace

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// priorsKind say which weights share a prior standard deviation σ₀.
type priorsKind string

const (
	// priorsShared is one σ₀ for all weights.
	priorsShared priorsKind = "shared"
	// priorsPerLayer is one for each layer: parameters whose names agree up to the last dot,
	// as dense1.weight and dense1.bias do.
	priorsPerLayer priorsKind = "per layer"
	// priorsPerParameter is one for each parameter.
	priorsPerParameter priorsKind = "per parameter"
)

// partition divides the blocks into those that share a prior standard deviation.
type partition struct {
	names []string // of its parts: a layer, a parameter or "all"
	of    []int    // by block
}

// partition names the parts by their parameters.
func (p priorsKind) partition(blocks []block) (out partition) {
	for _, k := range blocks {
		name := "all"
		switch p {
		case priorsPerLayer:
			name = k.param.Name
			if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
				name = name[:dot]
			}
		case priorsPerParameter:
			name = k.param.Name
		}
		i := slices.Index(out.names, name)
		if i < 0 {
			i = len(out.names)
			out.names = append(out.names, name)
		}
		out.of = append(out.of, i)
	}
	return out
}

// sums adds up the numbers of the blocks in each part.
func (p partition) sums(byBlock []float64) []float64 {
	out := make([]float64, len(p.names))
	for i, v := range byBlock {
		out[p.of[i]] += v
	}
	return out
}

// hyper are the hyper-parameters as standard deviations; 0 where one is free. The noise is
// 1 with a likelihood that has none, because H then holds all of Λ.
type hyper struct {
	prior []float64 // by part
	noise float64   // σ
}

// uniform is a hyper with the same prior standard deviation for each of the parts.
func uniform(prior, noise float64, parts int) hyper {
	return hyper{slices.Repeat([]float64{prior}, parts), noise}
}

// free reports whether a hyper-parameter is free.
func (h hyper) free() bool { return h.noise == 0 || slices.Contains(h.prior, 0) }

// ratio is s = σ²/σ₀², for the first prior standard deviation.
func (h hyper) ratio() float64 { return h.noise / h.prior[0] * (h.noise / h.prior[0]) }

// scales returns the scales of H for the structures.
func (h hyper) scales(p partition) scales {
	out := scales{s: h.ratio()}
	if len(h.prior) > 1 {
		for _, part := range p.of {
			out.t = append(out.t, h.prior[part]/h.prior[0])
		}
	}
	return out
}

// scales are the hyper-parameters in the form that structures use: s = σ²/σ₀², and for each
// block t, its prior standard deviation over σ₀; nil stands for ones. With T the diagonal
// matrix of t for all weights, the posterior covariance of the weights is
// σ₀² s T (T H T + sI)⁻¹ T.
type scales struct {
	s float64   // σ²/σ₀²
	t []float64 // by block; nil: ones
}

// of is the scale of block i.
func (c scales) of(i int) float64 {
	if c.t == nil {
		return 1
	}
	return c.t[i]
}

func (h hyper) check(noisy bool) error {
	for _, v := range append([]float64{h.noise}, h.prior...) {
		if !(v >= 0) || math.IsInf(v, 0) {
			return fmt.Errorf("laplace: prior standard deviation %s and noise standard deviation %g: expected finite positive numbers, or 0 to choose", list(h.prior), h.noise)
		}
	}
	if !noisy && h.noise != 0 {
		return fmt.Errorf("laplace: noise standard deviation %g with a likelihood that has no noise, expected 0", h.noise)
	}
	for _, prior := range h.prior {
		if s := (h.noise / prior) * (h.noise / prior); prior > 0 && h.noise > 0 && (s == 0 || math.IsInf(s, 0)) {
			return fmt.Errorf("laplace: prior standard deviation %g and noise standard deviation %g are too far apart", prior, h.noise)
		}
	}
	return nil
}

// list writes numbers side by side.
func list(v []float64) string { return strings.Trim(fmt.Sprint(v), "[]") }
