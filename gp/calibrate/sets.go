package calibrate

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/internal/dense"
)

// Kinds of sets of classes, see [Conformal.ClassScores].
const (
	LAC = "lac" // the smallest sets on average; difficult rows may have few classes or none
	APS = "aps" // larger sets, which grow where the classes are difficult to distinguish

	RAPS = "raps" // like APS, with fewer classes of small probability
)

// ClassScores writes the scores of all classes of a row of probabilities [C] to dst [C]. The
// set of the row at a level has the classes whose scores are at most the [Conformal.Quantile].
//
// The score of [LAC] is 1 − p_c (Sadinle, Lei and Wasserman 2019). The score of [APS] is the probability of all
// classes that are more probable than c, plus U p_c (Romano, Sesia and Candès 2020). [RAPS] adds 0.1 for each place of c beyond the second. Of equally probable classes the
// first class comes first. U is uniform from 0 to 1, and the same for all classes of a row. U is a function of the
// seed and of the logarithms of the probabilities, rounded to 1/64. A row therefore has the same set at any place and
// among any other rows, and the scores are exchangeable if the rows are exchangeable.
func (c *Conformal) ClassScores(dst, probs []float64) {
	if c.Sets == APS || c.Sets == RAPS {
		each := 0.0
		if c.Sets == RAPS {
			each = penalty
		}
		adaptiveScores(dst, probs, uniform(c.Seed, probs), each)
		return
	}
	for k, p := range probs {
		dst[k] = 1 - p
	}
}

const (
	// freeRank is the place of a class, by its probability, up to which [RAPS] has no penalty.
	freeRank = 2
	// penalty is the penalty of RAPS for each further place (Angelopoulos et al. 2021).
	penalty = 0.1
)

// adaptiveScores writes the scores of [APS] for a row of probabilities [C] to dst [C], with u in
// place of U and a penalty for each place beyond freeRank.
func adaptiveScores(dst, probs []float64, u, penalty float64) {
	order := dense.Indices(len(probs))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(probs[b], probs[a]) })
	before := 0.0
	for place, k := range order {
		dst[k] = before + u*probs[k] + penalty*float64(max(0, place+1-freeRank))
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
