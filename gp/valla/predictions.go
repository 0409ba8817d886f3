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
}

// into makes q write to g, which has room for what is to come, from its beginning.
func (q *predictions) into(g *gp.Gaussian) { q.g, q.blunt = *g, q.blunt[:0] }

// add takes in the values of κ̂, or of its diagonals where g has variances alone, and k̂ at n inputs from number first on.
func (q *predictions) add(first, n int, diag, cross *tensor.Dense) error {
	part := q.g.Rows(first, n)
	c := part.Outputs()
	size := n * c * q.m
	if len(q.k) < size {
		q.prior, q.k, q.w = make([]float64, n*c), make([]float64, size), make([]float64, size)
	}
	prior, k, w := q.prior[:n*c], q.k[:size], q.w[:size]
	dense.Copy(part.Cov, diag, 0)
	dense.Copy(k, cross, 0)
	for i := range prior {
		prior[i] = q.s * part.Variance(i/c, i%c)
	}
	if q.known != nil {
		q.known.variances(part.Epistemic, prior, k, w)
		for i, v := range part.Epistemic {
			part.Epistemic[i] = max(v, 0)
		}
	}
	if part.Marginal > 0 {
		q.variances(part.Cov, prior, k, w)
	} else {
		q.covariances(c, part.Cov, k, w)
	}
	if diag.Dtype() == tensor.Float64 {
		return gp.Settle(part, prior, q.rows, first)
	}
	for i, v := range prior {
		row := first + i/c
		if !(part.Variance(i/c, i%c) >= digits*rounding(tensor.Float32)*v) && (len(q.blunt) == 0 || q.blunt[len(q.blunt)-1] != row) {
			q.blunt = append(q.blunt, row)
		}
	}
	return nil
}
