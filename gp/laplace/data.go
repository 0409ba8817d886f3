package laplace

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// newData returns the examples x [N,…] with the targets y [N,W·C], or the subset of the examples that
// the options o ask for, drawn at random.
func newData(x, y *tensor.Dense, o options) (gp.Examples, error) {
	e := gp.Examples{X: x, Y: y}
	if err := e.Check(o.likelihood()); err != nil {
		return e, fmt.Errorf("laplace: %w", err)
	}
	if o.Subset == 0 {
		return e, nil
	}
	if o.Subset < 0 || o.Subset > e.N() {
		return e, fmt.Errorf("laplace: a subset of %d examples, expected 1 to %d", o.Subset, e.N())
	}
	return e.Rows(rand.New(rand.NewPCG(o.Seed, 0)).Perm(e.N())[:o.Subset]), nil
}

// outputs returns C for targets y [N,W·C] of a likelihood.
func outputs(e gp.Examples, l likelihood.Likelihood) int { return e.Y.Shape()[1] / l.Width() }

// targets reads the targets of batches.
type targets struct {
	from gp.Examples // Y may be nil
	row  []float64   // of a batch [B,W·C]
}

// of returns the targets of a batch [count,W·C], until the next; nil where there are none.
func (t *targets) of(b batch) []float64 {
	if t.from.Y == nil {
		return nil
	}
	width := t.from.Y.Shape()[1]
	if len(t.row) < b.count*width {
		t.row = make([]float64, b.count*width)
	}
	dense.Copy(t.row[:b.count*width], t.from.Y, b.first*width)
	return t.row[:b.count*width]
}

// rowOf returns the part of the targets y that belongs to the outputs at … at+c−1 of n; nil where y is nil.
func rowOf(y []float64, at, n, c int) []float64 {
	w := len(y) / n
	return y[at*w : (at+c)*w]
}

// convert copies all of src to the front of dst.
func convert[D, S kernel.Float](dst []D, src []S) {
	if same, ok := any(src).([]D); ok {
		copy(dst, same)
		return
	}
	for i, v := range src {
		dst[i] = D(v)
	}
}
