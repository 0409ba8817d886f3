package metric

import "math"

// Binary accumulates the scores of predicted probabilities of a yes. The zero value is ready to use. It keeps the
// probability of each row for the scores that need an order of the rows.
type Binary struct {
	p     []float64     // probabilities [n]
	yes   []bool        // answers [n]
	brier Mean          // of (p − yes)²
	bins  [binCount]bin // of the probability
}

// BinaryScores are the scores of N probabilities.
type BinaryScores struct {
	N     int      // probabilities
	Brier Estimate // mean of (p − yes)², half of the Brier score that sums over both classes
	ECE   Estimate // mean over the rows of |share of yes − mean p| of their bins of p, of which there are 15
	// AUC and AP are the AUC and the average precision. A NaN stands where all answers are the same, for AP where no
	// answer is yes.
	AUC, AP Estimate
}

// Add adds a probability of yes, and whether the answer was yes.
func (b *Binary) Add(p float64, yes bool) {
	b.p, b.yes = append(b.p, p), append(b.yes, yes)
	d := p - step(yes)
	b.brier.Add(d * d)
	if p == p { // not NaN
		b.bins[binOf(p, binCount)].add(p, yes)
	}
}

// Result returns the scores of everything added so far, or scores that are NaN and [ErrEmpty].
func (b *Binary) Result() (BinaryScores, error) {
	s := BinaryScores{N: len(b.p), Brier: unknown, ECE: unknown, AUC: unknown, AP: unknown}
	if s.N == 0 {
		return s, ErrEmpty
	}
	s.Brier = b.brier.Estimate()
	if !math.IsNaN(s.Brier.Value) {
		s.ECE = eceOf(b.bins[:], float64(s.N), s.Brier.Value)
	}
	if auc, err := AUCEstimate(b.p, b.yes); err == nil {
		s.AUC = auc
	}
	if ap, err := AveragePrecision(b.p, b.yes); err == nil {
		s.AP = ap
	}
	return s, nil
}
