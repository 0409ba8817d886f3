package gp

import (
	"fmt"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Writer is a Posterior whose predictions can be written as nodes of graphs, for files that other programs compute.
type Writer interface {
	Posterior
	// Write writes the distribution of the latent function at the inputs w.X. What depends on no input is computed at once. Write
	// is called for several numbers of examples.
	Write(w *Writing) (Written, error)
}

// Write writes what p writes, and returns an error that wraps valla.ErrSetting if p is no Writer.
func Write(p Posterior, w *Writing) (Written, error) {
	if of, ok := p.(Writer); ok {
		return of.Write(w)
	}
	return Written{}, settings.Errorf("%v cannot be exported", p)
}

// Writing is where a Writer writes.
type Writing struct {
	Sheet *graph.Sheet   // all stages
	Net   *graph.Builder // stage of the network and of its kernels
	X     *graph.Node    // inputs [B,…] in the units of the network, in Net
	Out   *graph.Builder // later stage of what follows, float64
	// Careful asks for variances that keep their digits where they are small differences of large numbers, at any cost.
	Careful bool

	constants int // number of constants
}

// Written are the nodes of a [Gaussian], in the stage Out of a [Writing]. Some may be nil, as there.
type Written struct {
	Mean      *graph.Node // [B,C]
	Cov       *graph.Node // [B,C,C]
	Epistemic *graph.Node // [B,C]
	Probs     *graph.Node // [B,C]
	LogScale  *graph.Node // [B,C]
}

// NewWriting adds the two stages to a sheet. x are inputs [B,…] in the units of the network, of an earlier stage, as numbers of the
// network's element type dt. With careful, the network is computed in float64, see [Writing].
func NewWriting(s *graph.Sheet, x *graph.Node, dt tensor.Dtype, careful bool) *Writing {
	w := &Writing{Sheet: s, Careful: careful}
	if dt == tensor.Float32 && careful { // rounded first
		x = s.Carry(s.Stage(dt), x)
		dt = tensor.Float64
	}
	w.Net = s.Stage(dt)
	w.X = s.Carry(w.Net, x)
	w.Out = s.Stage(tensor.Float64)
	return w
}

// Carry returns the value of a node of Net in Out.
func (w *Writing) Carry(n *graph.Node) *graph.Node { return w.Sheet.Carry(w.Out, n) }

// Scope puts a prefix before the names of arrays, after the prefixes that are there already, until end is called.
func (w *Writing) Scope(prefix string) (end func()) {
	out, net := w.Out.Scope(prefix), w.Net.Scope(prefix)
	return func() { out(); net() }
}

// Const returns a constant of Out.
func (w *Writing) Const(v []float64, shape ...int) *graph.Node {
	w.constants++
	return w.Out.Const(fmt.Sprint("written ", w.constants), v, shape...)
}

// Rounded returns a constant of Net.
func (w *Writing) Rounded(v *tensor.Dense) *graph.Node {
	w.constants++
	return w.Net.Param(&graph.Param{Name: fmt.Sprint("written ", w.constants), Value: graph.Convert(v, w.Net.Dtype())})
}

// Gram returns scale·vvᵀ of each matrix of a stack v [B,C,K]: [B,C,C].
func (w *Writing) Gram(v *graph.Node, scale float64) *graph.Node {
	return w.Out.Scale(w.Out.Gram(v), scale)
}

// Rows returns v [B,C,K] times a matrix [K,L] of constants: [B,C,L].
func (w *Writing) Rows(v *graph.Node, matrix []float64) *graph.Node {
	if w.Out.Err() != nil {
		return nil
	}
	k := v.Shape()[2]
	return w.Out.MatMul(v, w.Const(matrix, k, len(matrix)/k), false, false)
}

// Lower returns a lower triangular matrix [n,n] of constants, of which the file holds the triangle.
func (w *Writing) Lower(matrix []float64, n int) *graph.Node {
	packed := dense.PackLower(n, matrix)
	return w.Out.Lower(w.Const(packed, len(packed)))
}

// Root returns a lower triangular matrix [n,n] of constants, of which the file holds the triangle, with the same square LLᵀ = WWᵀ as
// the matrix W.
func (w *Writing) Root(matrix []float64, n int) *graph.Node {
	var of mat.QR
	of.Factorize(mat.NewDense(n, n, matrix).T())
	upper, lower := new(mat.Dense), new(mat.Dense)
	of.RTo(upper)
	lower.CloneFrom(upper.T())
	return w.Lower(lower.RawMatrix().Data, n)
}

// Err returns the first error of a stage.
func (w *Writing) Err() error {
	if err := w.Net.Err(); err != nil {
		return err
	}
	return w.Out.Err()
}

// Write implements Writer.
func (p Point) Write(w *Writing) (Written, error) {
	mean := w.Carry(p.Net.Forward(w.Net, w.X))
	if err := w.Err(); err != nil {
		return Written{}, err
	}
	n, c := mean.Shape()[0], mean.Shape()[1]
	return Written{Mean: mean, Cov: w.Out.BroadcastTo(w.Out.Fill(0, 1), n, c, c)}, w.Err() // zeros in the memory of one
}

// Write changes the nodes of a distribution like the distribution.
func (a Affine) Write(w *Writing, g Written) Written {
	b, c := w.Out, len(a.Mean)
	scale, shift := w.Const(a.Mean, 1, c), w.Const(a.Shift, 1, c)
	g.Mean = b.Add(b.Mul(g.Mean, scale), shift)
	g.Cov = b.Mul(g.Cov, b.Mul(w.Const(a.Std, 1, c, 1), w.Const(a.Std, 1, 1, c)))
	if g.Probs != nil {
		g.Probs = b.Softmax(b.Add(b.Mul(b.Log(g.Probs), scale), shift))
	}
	return g
}
