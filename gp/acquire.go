package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// Criterion says what makes a row worth a label.
type Criterion string

// The criteria of [Pool.Choose]. Each is computed given the labels of the rows that were chosen before.
const (
	// ByVariance takes the row with the largest variance tr(J Q Jᵀ).
	ByVariance Criterion = "variance"
	// ByInformation takes the row whose label tells most about the function: ½ log det(I + Aᵀ Q A) nats. The sum
	// over the chosen rows is the mutual information of all their labels with the function, the objective of BatchBALD
	// (Kirsch, van Amersfoort and Gal 2019) for Gaussian labels; the first row is the row of BALD (Houlsby et al. 2011).
	ByInformation Criterion = "bald"
	// ByPosterior takes the row whose label takes most away from the variance at the rows of the pool, as the mean over
	// the rows (Cohn, Ghahramani and Jordan 1996).
	ByPosterior Criterion = "posterior"
)

// Criteria returns all criteria.
func Criteria() []Criterion { return []Criterion{ByVariance, ByInformation, ByPosterior} }

// Pool has the joint Gaussian of the C outputs f at N rows without labels.
type Pool struct {
	Outputs int       // C
	Cov     []float64 // covariance [N·C,N·C] in the order of [JointPosterior.Joint]
	// Roots [N,C,C] has an A for each row, so that A Aᵀ is the precision of a label of the row as an observation
	// of f: for independent Gaussian noise the diagonal matrix of 1/σ.
	Roots []float64
	// Maps [N,C,C] has a J for each row, so that variances are the variances of J f; nil means f.
	Maps []float64
}

// Choice is a row that [Pool.Choose] has chosen.
type Choice struct {
	Row   int     // row of the pool, from 0
	Score float64 // value of the criterion when the row was chosen
}

// sameFunction is the correlation from which on two rows are near duplicates.
const sameFunction = 0.999

// Choose returns n rows to label, or all rows if there are fewer. It is greedy: it takes the row that is best given the
// labels of the rows so far. Labels are noisy observations of f, so that no label has to be known. A near duplicate,
// whose values have a correlation of at least 0.999 with a chosen row before any label is known, is taken only if
// all other rows have been taken. Among equal rows the first is taken. The time is proportional to n·(N·C)²·C.
func (p Pool) Choose(ctx context.Context, n int, by Criterion) ([]Choice, error) {
	if !slices.Contains(Criteria(), by) {
		return nil, fmt.Errorf("gp: choose: criterion %q, expected one of %q", by, Criteria())
	}
	s := &chooser{Pool: p, by: by, size: len(p.Roots) / p.Outputs, now: slices.Clone(p.Cov)}
	s.state = make([]byte, s.size/p.Outputs)
	var out []Choice
	for range min(n, len(s.state)) {
		best, err := s.best(ctx)
		if err == nil {
			err = s.take(best.Row)
		}
		if err != nil {
			return nil, fmt.Errorf("gp: choose: %w", err)
		}
		out = append(out, best)
	}
	return out, nil
}

// States of a row.
const (
	free  = iota // may be chosen
	near         // is a near duplicate of a chosen row
	taken        // is chosen
)

// chooser is the state of [Pool.Choose].
type chooser struct {
	Pool
	by    Criterion // criterion of the choice
	size  int       // N·C
	now   []float64 // covariance given the labels of the chosen rows [N·C,N·C]
	state []byte    // state of each row [N]
}

// best returns the best row that is not taken.
func (s *chooser) best(ctx context.Context) (Choice, error) {
	want := byte(free)
	if !slices.Contains(s.state, free) {
		want = near
	}
	best := Choice{Row: -1}
	for i, state := range s.state {
		if state != want {
			continue
		}
		if err := ctx.Err(); err != nil {
			return best, err
		}
		score, err := s.score(i)
		if err != nil {
			return best, err
		}
		if best.Row < 0 || score > best.Score {
			best = Choice{i, score}
		}
	}
	return best, nil
}

// score returns the criterion at row i.
func (s *chooser) score(i int) (float64, error) {
	switch s.by {
	case ByVariance:
		c, q, sum := s.Outputs, make([]float64, s.Outputs*s.Outputs), 0.0
		for k := range c {
			copy(q[k*c:], s.now[(i*c+k)*s.size+i*c:][:c])
		}
		left := s.mapped(i, q) // Q Jᵀ
		for k := range c {
			for l := range c {
				sum += s.mapping(i, k, l) * left[l*c+k]
			}
		}
		return sum, nil
	case ByInformation:
		l, err := s.factor(i)
		sum := 0.0
		for k := 0; k < len(l); k += s.Outputs + 1 {
			sum += math.Log(l[k])
		}
		return sum, err
	}
	w, err := s.gain(i)
	return s.total(w) / float64(len(s.state)), err
}

// mapping returns the entry k, l of J of row i.
func (s *chooser) mapping(i, k, l int) float64 {
	switch c := s.Outputs; {
	case s.Maps != nil:
		return s.Maps[(i*c+k)*c+l]
	case k == l:
		return 1
	}
	return 0
}

// mapped returns a Jᵀ for rows a [·,C] and the J of row i.
func (s *chooser) mapped(i int, a []float64) []float64 {
	if s.Maps == nil {
		return a
	}
	c, out := s.Outputs, make([]float64, len(a))
	kernel.Gemm(false, true, len(a)/c, c, c, 1, a, c, s.Maps[i*c*c:], c, 0, out, c)
	return out
}

// total returns the sum of the squares of w [C,N·C], with the outputs of each row mapped.
func (s *chooser) total(w []float64) (sum float64) {
	for at := 0; at < len(w); at += s.Outputs {
		for _, v := range s.mapped(at/s.Outputs%len(s.state), w[at:at+s.Outputs]) {
			sum += v * v
		}
	}
	return sum
}

// factor returns the Cholesky factor [C,C] of I + Aᵀ Q A at row i.
func (s *chooser) factor(i int) ([]float64, error) {
	c := s.Outputs
	a, qa, out := s.Roots[i*c*c:][:c*c], make([]float64, c*c), make([]float64, c*c)
	kernel.Gemm(false, false, c, c, c, 1, s.now[i*c*s.size+i*c:], s.size, a, c, 0, qa, c)
	for k := range c {
		out[k*c+k] = 1
	}
	kernel.Gemm(true, false, c, c, c, 1, a, c, qa, c, 1, out, c)
	if pivot := kernel.Cholesky(c, out, c); pivot >= 0 {
		return nil, fmt.Errorf("%w: at row %d", ErrNotCovariance, i)
	}
	return out, nil
}

// gain returns W [C,N·C] for row i: a label of row i takes WᵀW away from the covariance.
func (s *chooser) gain(i int) ([]float64, error) {
	l, err := s.factor(i)
	if err != nil {
		return nil, err
	}
	c, w := s.Outputs, make([]float64, s.Outputs*s.size)
	kernel.Gemm(true, false, c, s.size, c, 1, s.Roots[i*c*c:], c, s.now[i*c*s.size:], s.size, 0, w, s.size)
	kernel.Trsm(false, false, c, s.size, l, c, w, s.size)
	return w, nil
}

// take chooses row i.
func (s *chooser) take(i int) error {
	w, err := s.gain(i)
	if err != nil {
		return err
	}
	kernel.Gemm(true, false, s.size, s.size, s.Outputs, -1, w, s.size, w, s.size, 1, s.now, s.size)
	s.state[i] = taken
	for j, state := range s.state {
		if state == free && s.correlation(i, j) >= sameFunction {
			s.state[j] = near
		}
	}
	return nil
}

// correlation returns the correlation of the values at rows i and j before any label is known, over all outputs.
func (s *chooser) correlation(i, j int) float64 {
	trace := func(i, j int) (sum float64) {
		for k := range s.Outputs {
			sum += s.Cov[(i*s.Outputs+k)*s.size+j*s.Outputs+k]
		}
		return sum
	}
	return math.Abs(trace(i, j)) / math.Sqrt(max(trace(i, i)*trace(j, j), math.SmallestNonzeroFloat64))
}
