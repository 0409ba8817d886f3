package laplace

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// scanner runs a network and its Jacobian in the chosen weights over inputs, one
// batch of a fixed size after the other.
type scanner struct {
	weights []*graph.Param // all of the network's
	params  int            // P, their number of elements
	outputs int            // C
	batch   int            // B

	mu      sync.Mutex // a Program serves one caller at a time
	program *graph.Program
	x       *tensor.Dense // [B,…], read by the program
	out     *graph.Node   // [B,C]
	rows    []*graph.Node // for each of the weights, [B·C, size]
}

// newScanner compiles net for batches of inputs of the given shape each; it must
// have so many outputs.
func newScanner(net layers.Network, shape tensor.Shape, outputs, batch int) (*scanner, error) {
	s := &scanner{weights: net.Params(), outputs: outputs, batch: batch}
	if len(s.weights) == 0 {
		return nil, fmt.Errorf("laplace: the network has no parameters")
	}
	s.x = tensor.New(tensor.Of(s.weights[0].Value.Dtype()), tensor.WithShape(append([]int{batch}, shape...)...))
	b := graph.NewBuilder(s.x.Dtype())
	x := b.Input("x", s.x.Shape()...)
	s.out, s.rows = net.Forward(b, x), jacobian.NTK{Net: net}.Rows(b, x)
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("laplace: %w", err)
	}
	if want := (tensor.Shape{batch, outputs}); !s.out.Shape().Eq(want) {
		return nil, fmt.Errorf("laplace: the network's output for a batch of %d has shape %v, the targets need %v", batch, s.out.Shape(), want)
	}
	for _, r := range s.rows {
		s.params += r.Shape()[1]
	}
	var err error
	if s.program, err = graph.Compile(b, append([]*graph.Node{s.out}, s.rows...), graph.Options{}); err != nil {
		return nil, fmt.Errorf("laplace: %w", err)
	}
	return s, s.program.Bind(x, s.x)
}

// each calls f for every batch of the inputs, in order. The batch may be used
// during the call only.
func (s *scanner) each(ctx context.Context, in inputs, f func(batch) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.batch
	for first := 0; first < in.n; first += size {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := batch{scanner: s, first: first, count: min(size, in.n-first)}
		s.load(in, first)
		if err := s.program.Run(); err != nil {
			return fmt.Errorf("laplace: examples from %d: %w", first, err)
		}
		if i := notFinite(b.mean()); i >= 0 {
			return fmt.Errorf("laplace: the network's output %d at example %d is %g", i%s.outputs, first+i/s.outputs, b.mean()[i])
		}
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// load puts the inputs from first on where the program reads them. The last one
// fills up the batch.
func (s *scanner) load(in inputs, first int) {
	size := in.size()
	for i := range s.batch {
		row := min(first+i, in.n-1) * size
		if s.x.Dtype() == tensor.Float64 {
			copy(s.x.Float64s()[i*size:], in.v[row:row+size])
		} else {
			convert(s.x.Float32s()[i*size:], in.v[row:row+size])
		}
	}
}

// batch is what the network gave for the examples first, first+1, ….
type batch struct {
	*scanner
	first, count int
}

// mean returns the network's outputs, [count·C].
func (b batch) mean() []float64 {
	return graph.Floats(b.program.Value(b.out))[:b.size()]
}

// size is the number of Jacobian rows.
func (b batch) size() int { return b.count * b.outputs }

// jacobian writes the Jacobian rows to the first P columns of dst, [count·C, ld].
func (b batch) jacobian(dst []float64, ld int) error {
	col := 0
	for _, n := range b.rows {
		v, size := b.program.Value(n), n.Shape()[1]
		for r := range b.size() {
			part := dst[r*ld+col : r*ld+col+size]
			if v.Dtype() == tensor.Float64 {
				copy(part, v.Float64s()[r*size:])
			} else {
				convert(part, v.Float32s()[r*size:(r+1)*size])
			}
			if i := notFinite(part); i >= 0 {
				return fmt.Errorf("laplace: example %d: the derivative of output %d in weight %d is %g",
					b.first+r/b.outputs, r%b.outputs, col+i, part[i])
			}
		}
		col += size
	}
	return nil
}

// convert copies all of src to the front of dst.
func convert[D, S float32 | float64](dst []D, src []S) {
	for i, v := range src {
		dst[i] = D(v)
	}
}
