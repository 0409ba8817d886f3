package gp_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"gonum.org/v1/gonum/mat"
)

// randomPool is a pool of n rows with c outputs, whose covariance has the given rank.
func randomPool(n, c, rank int, maps bool, seed uint64) gp.Pool {
	rng := source(seed)
	normal := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = rng.NormFloat64()
		}
		return out
	}
	size := n * c
	g, cov := mat.NewDense(size, rank, normal(size*rank)), mat.NewDense(size, size, nil)
	cov.Mul(g, g.T())
	p := gp.Pool{Outputs: c, Cov: cov.RawMatrix().Data, Roots: normal(size * c)}
	if maps {
		p.Maps = normal(size * c)
	}
	return p
}

// blocks is the block diagonal matrix of a [N,C,C] at the rows; nil is the identity.
func blocks(a []float64, c int, rows []int) *mat.Dense {
	out := mat.NewDense(len(rows)*c, len(rows)*c, nil)
	for i, row := range rows {
		for at := range c * c {
			v := 0.0
			if a != nil {
				v = a[row*c*c+at]
			} else if at/c == at%c {
				v = 1
			}
			out.Set(i*c+at/c, i*c+at%c, v)
		}
	}
	return out
}

// between is the part of q [N·C,N·C] with rows a and columns b of the pool.
func between(q mat.Matrix, c int, a, b []int) *mat.Dense {
	out := mat.NewDense(len(a)*c, len(b)*c, nil)
	for i := range len(a) * c {
		for j := range len(b) * c {
			out.Set(i, j, q.At(a[i/c]*c+i%c, b[j/c]*c+j%c))
		}
	}
	return out
}

// given is the covariance of all rows given the labels of the rows s, by one inverse, and log det(I + Aᵀ Q A).
func given(t *testing.T, p gp.Pool, s []int) (*mat.Dense, float64) {
	t.Helper()
	size, c := len(p.Roots)/p.Outputs, p.Outputs
	q := mat.NewDense(size, size, slices.Clone(p.Cov))
	if len(s) == 0 {
		return q, 0
	}
	all, a := upTo(size/c), blocks(p.Roots, c, s)
	var inner, inverse, side, left, down, out mat.Dense
	inner.Product(a.T(), between(q, c, s, s), a)
	for i := range len(s) * c {
		inner.Set(i, i, inner.At(i, i)+1)
	}
	if err := inverse.Inverse(&inner); err != nil {
		t.Fatal(err)
	}
	side.Mul(between(q, c, all, s), a)
	left.Mul(&side, &inverse)
	down.Mul(&left, side.T())
	out.Sub(q, &down)
	logDet, _ := mat.LogDet(&inner)
	return &out, logDet
}

func upTo(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// variance is the sum of the variances of J f at rows.
func variance(p gp.Pool, q mat.Matrix, rows []int) float64 {
	j := blocks(p.Maps, p.Outputs, rows)
	var out mat.Dense
	out.Product(j, between(q, p.Outputs, rows, rows), j.T())
	return out.Trace()
}

// slowScore is the criterion at row i given the labels of the rows s.
func slowScore(t *testing.T, p gp.Pool, by gp.Criterion, s []int, i int) float64 {
	t.Helper()
	before, det := given(t, p, s)
	after, more := given(t, p, append(slices.Clone(s), i))
	all := upTo(len(p.Roots) / p.Outputs / p.Outputs)
	switch by {
	case gp.ByVariance:
		return variance(p, before, []int{i})
	case gp.ByInformation:
		return (more - det) / 2
	}
	return (variance(p, before, all) - variance(p, after, all)) / float64(len(all))
}

// TestChooseSlow: the rows and their scores are those of the obvious way, which computes the covariance given the
// labels by an inverse for each row and each step.
func TestChooseSlow(t *testing.T) {
	const n, rows = 9, 5
	for _, c := range []int{1, 3} {
		for _, by := range gp.Criteria() {
			p := randomPool(n, c, 8, c > 1, 3)
			chosen, err := p.Choose(t.Context(), rows, by)
			if err != nil || len(chosen) != rows {
				t.Fatalf("%s, %d outputs: %d rows, error %v", by, c, len(chosen), err)
			}
			var so []int
			for step, got := range chosen {
				best, score := -1, math.Inf(-1)
				for i := range n {
					if v := slowScore(t, p, by, so, i); !slices.Contains(so, i) && v > score {
						best, score = i, v
					}
				}
				if got.Row != best || math.Abs(got.Score-score) > 1e-9*(1+score) {
					t.Errorf("%s, %d outputs, step %d: row %d with %g, want %d with %g", by, c, step, got.Row, got.Score, best, score)
				}
				so = append(so, best)
			}
		}
	}
}

// TestChooseDuplicates: rows with the function value of a chosen row come after all others, even if labels are so noisy
// that a second label of the same row would be worth more than a label of the others.
func TestChooseDuplicates(t *testing.T) {
	g := [][2]float64{{10, 0}, {10, 0.1}, {-9, 0}, {0, 1}, {0, 2}}
	p := gp.Pool{Outputs: 1, Roots: []float64{0.01, 0.01, 0.01, 0.01, 0.01}}
	for _, u := range g {
		for _, v := range g {
			p.Cov = append(p.Cov, u[0]*v[0]+u[1]*v[1])
		}
	}
	for _, by := range gp.Criteria() {
		chosen, err := p.Choose(t.Context(), 9, by)
		if err != nil || len(chosen) != len(g) {
			t.Fatalf("%s: %d rows, error %v", by, len(chosen), err)
		}
		if kinds := []bool{chosen[0].Row < 3, chosen[1].Row == 4}; slices.Contains(kinds, false) {
			t.Errorf("%s: rows %v", by, chosen)
		}
		for _, later := range chosen[2:] {
			if later.Row == 4 {
				t.Errorf("%s: rows %v", by, chosen)
			}
		}
	}
}

// TestChooseErrors: an unknown criterion, and numbers that are no covariance.
func TestChooseErrors(t *testing.T) {
	p := randomPool(3, 1, 2, false, 1)
	if _, err := p.Choose(t.Context(), 1, "taste"); err == nil {
		t.Error("an unknown criterion is no error")
	}
	p.Cov[0], p.Roots[0] = -4, 1
	if _, err := p.Choose(t.Context(), 3, gp.ByInformation); !errors.Is(err, gp.ErrNotCovariance) {
		t.Errorf("error %v", err)
	}
}
