package calibrate

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
)

// Kinds of sets of classes, see [Conformal.ClassScores].
const (
	LAC = "lac" // the smallest sets on average; difficult rows may have few classes or none
	APS = "aps" // larger sets, which grow where the classes are difficult to distinguish
)

// ClassScores writes the scores of all classes of a row of probabilities [C] to dst [C]. The
// set of the row at a level has the classes whose scores are at most the [Conformal.Quantile].
//
// The score of [LAC] is 1 − p_c (Sadinle, Lei and Wasserman 2019). The score of [APS] is the probability of all
// classes that are more probable than c, plus U p_c (Romano, Sesia and Candès 2020). Of equally probable classes the
// first class comes first. U is uniform from 0 to 1, and the same for all classes of a row. U is a function of the
// seed and of the logarithms of the probabilities, rounded to 1/64. A row therefore has the same set at any place and
// among any other rows, and the scores are exchangeable if the rows are exchangeable.
func (c *Conformal) ClassScores(dst, probs []float64) {
	if c.Sets == APS {
		adaptiveScores(dst, probs, uniform(c.Seed, probs))
		return
	}
	for k, p := range probs {
		dst[k] = 1 - p
	}
}

// adaptiveScores writes the scores of [APS] for a row of probabilities [C] to dst [C], with u in
// place of U.
func adaptiveScores(dst, probs []float64, u float64) {
	order := make([]int, len(probs))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probs[b], probs[a]) })
	before := 0.0
	for _, k := range order {
		dst[k] = before + u*probs[k]
		before += probs[k]
	}
}

// uniform returns the U of a row.
func uniform(seed uint64, probs []float64) float64 {
	h := fnv.New64a()
	var b [8]byte
	for _, p := range probs {
		binary.LittleEndian.PutUint64(b[:], uint64(int64(math.Round(64*math.Log(max(p, math.SmallestNonzeroFloat64))))))
		h.Write(b[:])
	}
	return rand.New(rand.NewPCG(seed, h.Sum64())).Float64()
}
