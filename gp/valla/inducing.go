package valla

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

const (
	// maxCandidates bounds the rows among which the greedy choice is made, unless there are more points, and stillCandidates the rows for inputs
	// that cannot move, of which there are candidatesEach for each point at least.
	maxCandidates   = 2000
	stillCandidates = 500
	candidatesEach  = 5
	// kMeansStream and candidateStream are the random streams of a seed from which the
	// inducing inputs are drawn.
	kMeansStream    = 2
	candidateStream = 7
)

// inducing returns the first inducing inputs [M,…] and their outputs. Inputs that cannot move, such as numbers of
// tokens, are rows of the training data, because a mean of such rows means nothing.
func (f *fitting) inducing() (z *tensor.Dense, class []int, err error) {
	if !f.greedy() {
		rng := rand.New(rand.NewPCG(f.r.Seed, kMeansStream))
		return gp.KMeans(f.p, f.s.Inducing, false, kMeansInits[f.s.Init], rng)
	}
	candidates := gp.SampleRows(f.p.Train.X, f.candidates(), rand.New(rand.NewPCG(f.r.Seed, candidateStream)))
	return greedy(jacobian.NTK{Net: f.p.Net}, candidates, f.p.Outputs(), min(f.s.Inducing, candidates.Shape()[0]), f.r.Limit()/2)
}

// greedy reports whether inducing inputs are chosen among the rows.
func (f *fitting) greedy() bool { return f.s.Init == initGreedy || f.still }

// candidates is the number of rows among which the greedy choice is made, at most all.
func (f *fitting) candidates() int {
	most := max(maxCandidates, f.s.Inducing)
	if f.s.Init != initGreedy {
		most = min(most, max(stillCandidates, candidatesEach*f.s.Inducing))
	}
	return min(most, f.p.Train.N())
}

// points returns the outputs of the inducing points, of which there are at most so many.
func (f *fitting) points() []int {
	if !f.greedy() {
		return gp.InducingPoints(f.p, f.s.Inducing, false)
	}
	return dense.Cycle(min(f.s.Inducing, f.candidates()), f.p.Outputs())
}

// greedy chooses m inducing points among the candidates x [N,…]. Candidate n stands for output n mod C of the C outputs.
// Each time greedy takes the candidate with the largest prior variance given the points chosen so
// far (Burt, Rasmussen and van der Wilk 2020). This is a good start if the kernel varies on other
// scales than the distances between inputs, on which k-means depends. greedy returns the chosen
// inputs [M,…] and their outputs. There are fewer than m if the remaining variance is only
// rounding. No variance at all is an error. The Jacobians take at most memory bytes, or as many as
// all at once take if memory is 0.
func greedy(k jacobian.NTK, x *tensor.Dense, outputs, m int, memory int64) (z *tensor.Dense, class []int, err error) {
	n := x.Shape()[0]
	if m < 1 || m > n {
		return nil, nil, fmt.Errorf("valla: greedy choice of %d inducing points out of %d candidates", m, n)
	}
	var variances []float64
	c, err := newColumns(k, x, outputs, memory)
	if err == nil {
		variances, err = c.variances(memory)
	}
	var picks []int
	if err == nil {
		picks, err = pivots(variances, c.column, m, leastVariance(x.Dtype()))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("valla: greedy choice of inducing points: %w", err)
	}
	if len(picks) == 0 {
		return nil, nil, fmt.Errorf("valla: greedy choice of inducing points: the prior variance is 0 at all %d candidates, since the outputs do not depend on the uncertain weights", n)
	}
	for _, row := range picks {
		class = append(class, row%outputs)
	}
	return data.TakeRows(x, picks), class, nil
}

// leastVariance is the share of the largest variance below which a remaining variance is only rounding.
func leastVariance(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-6
	}
	return 1e-13
}

// pivots returns the first m pivots, or as many as leave more than a share of the largest variance, of the pivoted
// Cholesky factorisation of a matrix [n,n] with the diagonal left, which pivots overwrites. Function column returns a column, given
// what is left of the diagonal.
func pivots(left []float64, column func(i int, left []float64) ([]float64, error), m int, share float64) ([]int, error) {
	n, rounding := len(left), share*slices.Max(left)
	var picks []int
	columns, weights := make([]float64, m*n), make([]float64, m) // of the factor, as rows
	for len(picks) < m {
		done, best := len(picks), 0
		for i, v := range left {
			if v > left[best] {
				best = i
			}
		}
		if !(left[best] > rounding) {
			break
		}
		k, err := column(best, left)
		if err != nil {
			return nil, err
		}
		col := columns[done*n : (done+1)*n]
		copy(col, k)
		for i := range done {
			weights[i] = -columns[i*n+best]
		}
		kernel.AddRows(col, columns, n, weights[:done])
		kernel.Scale(col, 1/math.Sqrt(left[best]), col)
		for i, v := range col {
			left[i] -= v * v
		}
		left[best] = 0
		picks = append(picks, best)
	}
	return picks, nil
}
