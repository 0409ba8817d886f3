package laplace

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// The cotangents of a last dense layer are the unit vectors e_c of the outputs at every example. With many classes most of
// the work of KFAC and of the diagonal would be products with these C² numbers of each example, so what they lead to is
// written by itself:
//
//	Σ_c w_c (e_c − m)(e_c − m)ᵀ = diag(w) − uᵀm − mᵀu,   u = w − ½ (Σ_c w_c) m,
//
// where w and m are those of [likelihood.Likelihood.Root]. The program of a scanner does not compute these cotangents, so
// that a batch of many classes has many examples.

// neverUnit lets tests compare with the rows.
var neverUnit = false

// findUnit sets unit if the cotangents of a group depend on neither the input nor the weights, and are unit vectors. It
// computes the cotangents, so s has a small batch.
func (s *scanner) findUnit() error {
	leaves := append(s.builder.Params(s.net.Params()), s.in)
	for _, g := range s.groups {
		if neverUnit || s.outputs == 1 || g.q != s.outputs || g.d.Dims() != 2 || graph.Dependents(graph.Ancestors(g.d), leaves)[g.d] {
			continue
		}
		program, err := graph.Compile(s.builder, []*graph.Node{g.d}, graph.Options{})
		if err == nil {
			err = program.Run()
		}
		if err != nil {
			return fmt.Errorf("laplace: %w", err)
		}
		if s.areUnit(program.Value(g.d)) {
			s.unit = g.d
		}
	}
	return nil
}

// areUnit reports whether v [B·C,C] holds the unit vectors of the outputs for each example.
func (s *scanner) areUnit(v *tensor.Dense) bool {
	for i, x := range graph.Floats(v) {
		if row, column := i/s.outputs%s.outputs, i%s.outputs; (row == column) != (x == 1) || row != column && x != 0 {
			return false
		}
	}
	return true
}

// sameUnit sets unit as it is in a scanner of the same network.
func (s *scanner) sameUnit(of *scanner) {
	for i, g := range of.groups {
		if g.d == of.unit {
			s.unit = s.groups[i].d
		}
	}
}

// isUnit reports whether a factor is the unit cotangents.
func (s *scanner) isUnit(n *graph.Node) bool { return n == s.unit || n == s.unitThere }

// unitRows returns the unit vectors of each example of b, [count·C,C], which must not be changed.
func (b batch) unitRows() []float64 {
	c := b.outputs
	if n := b.size() * c; len(b.units) < n {
		b.units = make([]float64, n)
		for r := range b.size() {
			b.units[r*c+r%c] = 1
		}
	}
	return b.units[:b.size()*c]
}

// addUnitMoments adds the moments of unit cotangents to sum. buf has the size rootsSize, or is nil where Λ is the identity.
func addUnitMoments[T kernel.Float](b batch, p factorOf, sum, buf []T) {
	switch {
	case !p.squares:
		unitGram(b, sum, buf)
	case b.lambda == nil:
		kernel.AddScalar(sum, T(b.count), sum)
	default:
		unitSquares(b, buf)
		for row := range slices.Chunk(buf[:b.size()], b.outputs) {
			kernel.Add(sum, sum, row)
		}
	}
}

// unitGram adds Λ of each example to the lower triangle of sum [C,C]. Unless Λ is the identity, buf has 2·count·C numbers
// at least.
func unitGram[T kernel.Float](b batch, sum, buf []T) {
	c := b.outputs
	if b.lambda == nil {
		for k := range c {
			sum[k*c+k] += T(b.count)
		}
		return
	}
	u, m := buf[:b.size()], buf[b.size():2*b.size()]
	for i := range b.count {
		w, mean := b.lambda.weights[i*c:(i+1)*c], b.lambda.mean[i*c:(i+1)*c]
		half := kernel.Sum(w) / 2
		for k, v := range w {
			sum[k*c+k] += T(v)
			u[i*c+k], m[i*c+k] = T(half*mean[k]-v), T(mean[k])
		}
	}
	addLower(sum, c, u, m, c)
	addLower(sum, c, m, u, c)
}

// unitSquares writes the diagonal of Λ of each example to dst [count,C].
func unitSquares[T kernel.Float](b batch, dst []T) {
	c := b.outputs
	for i := range b.count {
		if b.lambda == nil {
			for k := range c {
				dst[i*c+k] = 1
			}
			continue
		}
		w, m := b.lambda.weights[i*c:(i+1)*c], b.lambda.mean[i*c:(i+1)*c]
		sum := kernel.Sum(w)
		for k, v := range w {
			dst[i*c+k] = T(v - 2*v*m[k] + sum*m[k]*m[k])
		}
	}
}
