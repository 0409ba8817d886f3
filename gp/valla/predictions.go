package valla

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// predictions are the covariances at inputs, batch by batch.
type predictions struct {
	*system             // what predictions need of the inducing points
	known     *system   // that gives the epistemic variances; nil: there are none of their own
	c         int       // outputs of an input
	cov       []float64 // [n,C,C]
	epistemic []float64 // [n,C]; nil without known
	rows      []int     // numbers of the inputs among all; nil: their own
	blunt     []int     // inputs of which float32 leaves too little of the variance
	prior     []float64 // [C] of a batch
	k, w      []float64 // [·,C,M]
}

// into makes q write to g, which has room for what is to come, from its beginning.
func (q *predictions) into(g *gp.Gaussian, c int) {
	q.c, q.cov, q.epistemic, q.blunt = c, g.Cov, g.Epistemic, q.blunt[:0]
}

// add takes in the values of κ̂ and k̂ at n inputs from number first on.
func (q *predictions) add(first, n int, diag, cross *tensor.Dense) error {
	c := q.c
	size := n * c * q.m
	if len(q.k) < size {
		q.prior, q.k, q.w = make([]float64, n*c), make([]float64, size), make([]float64, size)
	}
	cov, prior := q.cov[first*c*c:(first+n)*c*c], q.prior[:n*c]
	dense.Copy(cov, diag, 0)
	dense.Copy(q.k[:size], cross, 0)
	for i := range prior {
		prior[i] = q.s * cov[i*c+i%c]
	}
	if q.known != nil {
		q.known.variances(q.epistemic[first*c:(first+n)*c], prior, q.k[:size], q.w[:size])
	}
	q.covariances(c, cov, q.k[:size], q.w[:size])
	if diag.Dtype() == tensor.Float64 {
		return gp.Settle(cov, prior, q.rows, first)
	}
	for i, k := range prior {
		row := first + i/c
		if !(cov[i*c+i%c] >= digits*rounding(tensor.Float32)*k) && (len(q.blunt) == 0 || q.blunt[len(q.blunt)-1] != row) {
			q.blunt = append(q.blunt, row)
		}
	}
	return nil
}
