package valla

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// predictions are the covariances at inputs, batch by batch.
type predictions struct {
	*system             // what predictions need of the inducing points
	known   *system     // that gives the epistemic variances; nil: there are none of their own
	g       gp.Gaussian // of all inputs
	rows    []int       // numbers of the inputs among all; nil: their own
	blunt   []int       // inputs of which float32 leaves too little of the variance
	prior   []float64   // [C] of a batch
	k, w    []float64   // [·,C,M]
	few     sparseRows  // what k̂ has where most numbers are 0
}

// into makes q write to g, which has room for what is to come, from its beginning.
func (q *predictions) into(g *gp.Gaussian) { q.g, q.blunt = *g, q.blunt[:0] }

// add takes in the values of κ̂, or of its diagonals where g has variances alone, and k̂ at n inputs from number first on.
func (q *predictions) add(first, n int, diag, cross *tensor.Dense) error {
	part := q.g.Rows(first, n)
	c := part.Outputs()
	if len(q.prior) < n*c {
		q.prior = make([]float64, n*c)
	}
	prior := q.prior[:n*c]
	dense.Copy(part.Cov, diag, 0)
	for i := range prior {
		prior[i] = q.s * part.Variance(i/c, i%c)
	}
	if q.fewNumbers(part.Marginal > 0) {
		q.addSparse(part, prior, cross)
	} else {
		q.addWhole(part, prior, cross)
	}
	for i, v := range part.Epistemic {
		part.Epistemic[i] = max(v, 0)
	}
	if diag.Dtype() == tensor.Float64 {
		return gp.Settle(part, prior, q.rows, first)
	}
	for i, v := range prior {
		row := first + i/c
		if !(part.Variance(i/c, i%c) >= digits*dense.Epsilon(tensor.Float32)/2*v) && (len(q.blunt) == 0 || q.blunt[len(q.blunt)-1] != row) {
			q.blunt = append(q.blunt, row)
		}
	}
	return nil
}

// fewNumbers reports whether predictions, of variances alone if marginal says so, gather the numbers of k̂ that are not 0.
func (q *predictions) fewNumbers(marginal bool) bool {
	return marginal && q.sparse && (q.known == nil || q.known.sparse)
}

// addWhole writes the covariances, or the variances, of a part from all numbers of k̂.
func (q *predictions) addWhole(part gp.Gaussian, prior []float64, cross *tensor.Dense) {
	k := q.values(len(prior), cross)
	if len(q.w) < len(k) {
		q.w = make([]float64, len(k))
	}
	w := q.w[:len(k)]
	if q.known != nil {
		q.known.variances(part.Epistemic, prior, k, w)
	}
	if part.Marginal > 0 {
		q.variances(part.Cov, prior, k, w)
	} else {
		q.covariances(part.Outputs(), part.Cov, k, w)
	}
}

// values returns all numbers of k̂ [rows,M] in float64, until the next call.
func (q *predictions) values(rows int, cross *tensor.Dense) []float64 {
	size := rows * q.m
	if len(q.k) < size {
		q.k = make([]float64, size)
	}
	dense.Copy(q.k[:size], cross, 0)
	return q.k[:size]
}

// addSparse writes the variances of a part from the numbers of k̂ that are not 0.
func (q *predictions) addSparse(part gp.Gaussian, prior []float64, cross *tensor.Dense) {
	q.few.gather(cross, len(prior), q.m)
	if len(q.w) < q.m {
		q.w = make([]float64, q.m)
	}
	if q.known != nil {
		q.known.sparseVariances(part.Epistemic, prior, &q.few, q.w)
	}
	q.sparseVariances(part.Cov, prior, &q.few, q.w)
}
