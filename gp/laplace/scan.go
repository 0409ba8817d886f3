package laplace

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// scanner computes a network and its Jacobian for inputs, in batches of a fixed size.
type scanner struct {
	weights []*graph.Param
	params  int          // P, their number of elements
	outputs int          // C
	batch   int          // B
	float   tensor.Dtype // of the network
	blocks  []block      // the Jacobian, by parameter
	groups  []group      // of blocks with the same cotangents

	builder *graph.Builder
	in      *graph.Node   // [B,…]
	out     *graph.Node   // [B,C]
	x       *tensor.Dense // [B,…], read by the program

	mu      sync.Mutex // a Program serves one caller at a time
	program *graph.Program
}

// newScanner writes net, which must have the given number of outputs, for batches of inputs
// of the given shape each. places is that of addBlocks.
func newScanner(net layers.Network, shape tensor.Shape, outputs, batch int, places bool) (*scanner, error) {
	s := &scanner{weights: net.Params(), outputs: outputs, batch: batch}
	s.float = s.weights[0].Value.Dtype()
	b := graph.NewBuilder(s.float)
	s.builder, s.in = b, b.Input("x", append([]int{batch}, shape...)...)
	s.out = net.Forward(b, s.in)
	if b.Err() == nil && !s.out.Shape().Eq(tensor.Shape{batch, outputs}) {
		return nil, fmt.Errorf("laplace: the network's output for a batch of %d has shape %v, the targets need %v", batch, s.out.Shape(), tensor.Shape{batch, outputs})
	}
	s.addBlocks(jacobian.NTK{Net: net}, places)
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("laplace: %w", err)
	}
	return s, nil
}

// compile compiles the graph, after which each may be called.
func (s *scanner) compile() error {
	s.x = tensor.New(tensor.Of(s.float), tensor.WithShape(s.in.Shape()...))
	nodes := []*graph.Node{s.out}
	for _, k := range s.blocks {
		nodes = append(nodes, k.nodes()...)
	}
	var err error
	if s.program, err = graph.Compile(s.builder, nodes, graph.Options{Varying: []*graph.Node{s.in}}); err != nil {
		return fmt.Errorf("laplace: %w", err)
	}
	return s.program.Bind(s.in, s.x)
}

// each calls f for every batch of the inputs, in order. The batch may be used
// during the call only.
func (s *scanner) each(ctx context.Context, in inputs, f func(batch) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for first := 0; first < in.n; first += s.batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := batch{scanner: s, first: first, count: min(s.batch, in.n-first)}
		s.load(in, first, b.count)
		if err := s.program.Run(); err != nil {
			return fmt.Errorf("laplace: examples from %d: %w", first, err)
		}
		if i, v := kernel.FirstNonFinite(b.mean()); i >= 0 {
			return fmt.Errorf("laplace: the network's output %d at example %d is %g", i%s.outputs, first+i/s.outputs, v)
		}
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// load copies count inputs, from first on, to where the program reads them. Copies of the
// last one fill up the batch.
func (s *scanner) load(in inputs, first, count int) {
	if s.float == tensor.Float64 {
		fill(s.x.Float64s(), in, first, count)
	} else {
		fill(s.x.Float32s(), in, first, count)
	}
}

func fill[T kernel.Float](dst []T, in inputs, first, count int) {
	copyRows(dst, in, first, count)
	for at := count * in.size(); at < len(dst); at += in.size() {
		copy(dst[at:], dst[at-in.size():at])
	}
}

// batch gives access to the results of the network for the examples first, first+1, ….
type batch struct {
	*scanner
	first, count int
	lambda       *lambda // nil: Λ is the identity over σ²
}

// size is the number of Jacobian rows.
func (b batch) size() int { return b.count * b.outputs }

// mean returns the network's outputs, [count·C].
func (b batch) mean() []float64 { return graph.Floats(b.program.Value(b.out))[:b.size()] }

// inputs returns the batch's inputs, [count,…].
func (b batch) inputs() []float64 {
	return graph.Floats(b.x)[:b.count*b.inputSize()]
}

// inputSize is the number of elements of an input.
func (s *scanner) inputSize() int { return s.in.Shape()[1:].TotalSize() }

// rows returns the values of a factor for the batch's examples. They must not be changed.
func rows[T kernel.Float](b batch, n *graph.Node) []T {
	v := b.program.Value(n)
	used := v.Shape().TotalSize() / b.batch * b.count
	data := v.Data()
	if same, ok := data.([]T); ok {
		return same[:used]
	}
	out := make([]T, used)
	if v.Dtype() == tensor.Float64 {
		convert(out, v.Float64s()[:used])
	} else {
		convert(out, v.Float32s()[:used])
	}
	return out
}
