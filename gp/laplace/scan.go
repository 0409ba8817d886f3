package laplace

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// scanner computes a network and its Jacobian for inputs, in batches of a fixed size.
type scanner struct {
	weights []*graph.Param // the uncertain parameters
	params  int            // P, their number of elements
	outputs int            // C
	batch   int            // B
	float   tensor.Dtype   // of the network
	blocks  []block        // the Jacobian, by parameter
	groups  []group        // of blocks with the same cotangents
	unit    *graph.Node    // the cotangents of the last layer where these are the unit vectors of the outputs, or nil
	units   []float64      // what unitRows returned

	unitThere *graph.Node // the node of unit in the scanner that alias was given

	builder *graph.Builder // of the graph below
	in      *graph.Node    // [B,…]
	out     *graph.Node    // [B,C]
	x       *tensor.Dense  // [B,…], read by the program

	mu      sync.Mutex     // a Program serves one caller at a time
	program *graph.Program // nil before compile

	net    layers.Network                // with the chosen parameters
	keep   keeping                       // the forms of the blocks
	values map[*graph.Node]*tensor.Dense // of the blocks' factors in a batch
	double working[float64]              // memory of a batch
	single working[float32]              // the same, in float32
	forms  formsJob                      // of a batch, kept because a job lives on the heap
	covs   covarianceJob                 // the same
	lambda lambda                        // of a batch
	short  []int                         // of a batch: the examples with little variance left
}

// newScanner writes net, which must have the given number of outputs, for batches of inputs
// of the given shape each. keep and like are the arguments of addBlocks.
func newScanner(net layers.Network, shape tensor.Shape, outputs, batch int, keep keeping, like []block) (*scanner, error) {
	b := graph.NewBuilder(net.Params()[0].Value.Dtype())
	return scannerAt(b, b.Input("x", append([]int{batch}, shape...)...), net, outputs, keep, like)
}

// scannerAt is newScanner for inputs [B,…] of a graph.
func scannerAt(b *graph.Builder, in *graph.Node, net layers.Network, outputs int, keep keeping, like []block) (*scanner, error) {
	s := &scanner{weights: net.Params(), outputs: outputs, net: net, keep: keep, builder: b, in: in, float: b.Dtype()}
	if b.Err() == nil {
		s.batch, s.out = in.Shape()[0], net.Forward(b, in)
	}
	if b.Err() == nil && !s.out.Shape().Eq(tensor.Shape{s.batch, outputs}) {
		return nil, fmt.Errorf("laplace: the network's output for a batch of %d has shape %v, the targets need %v", s.batch, s.out.Shape(), tensor.Shape{s.batch, outputs})
	}
	if b.Err() == nil {
		s.addBlocks(jacobian.NTK{Net: net}, keep, like)
	}
	return s, fault.In("laplace", b.Err())
}

// draft plans a program of the nodes.
func (s *scanner) draft(nodes []*graph.Node) (*graph.Draft, error) {
	d, err := graph.NewDraft(s.builder, nodes, graph.Options{Varying: []*graph.Node{s.in}})
	return d, fault.In("laplace", err)
}

// compile compiles the nodes, after which each may be called.
func (s *scanner) compile(nodes []*graph.Node) error {
	d, err := s.draft(nodes)
	if err != nil {
		return err
	}
	return s.compileDraft(d, nodes)
}

// compileDraft is compile for what draft has returned for the nodes.
func (s *scanner) compileDraft(d *graph.Draft, nodes []*graph.Node) (err error) {
	if s.program, err = d.Compile(); err != nil {
		return fmt.Errorf("laplace: %w", err)
	}
	s.x, s.values = tensor.New(tensor.Of(s.float), tensor.WithShape(s.in.Shape()...)), make(map[*graph.Node]*tensor.Dense)
	for _, n := range nodes {
		s.values[n] = s.program.Value(n)
	}
	return s.program.Bind(s.in, s.x)
}

// alias stores the values of s under the same nodes of the scanner of, too: what was made with
// that scanner asks for values by that scanner's nodes.
func (s *scanner) alias(of *scanner) {
	for i, k := range s.blocks {
		other := of.blocks[i]
		if k.d == s.unit {
			s.unitThere = other.d
		}
		for n, to := range map[*graph.Node]*graph.Node{k.a: other.a, k.d: other.d, k.images: other.images, k.tokens: other.tokens} {
			if v, ok := s.values[n]; ok {
				s.values[to] = v
			}
		}
	}
}

// nodes are the outputs, and the factors and tokens of all blocks, but for unit cotangents.
func (s *scanner) nodes() []*graph.Node {
	all := []*graph.Node{s.out}
	for _, k := range s.blocks {
		for _, n := range k.nodes() {
			if n != s.unit {
				all = append(all, n)
			}
		}
		if k.tokens != nil {
			all = append(all, k.tokens)
		}
	}
	return all
}

// fitted are the nodes that a fit reads.
func (s *scanner) fitted() []*graph.Node {
	all := s.nodes()
	for _, k := range s.blocks {
		if k.images != nil {
			all = append(all, k.images)
		}
	}
	return all
}

// each calls f for every batch of the inputs x [N,…], in order. The batch may be used
// during the call only.
func (s *scanner) each(ctx context.Context, x *tensor.Dense, f func(batch) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := x.Shape()[0]
	for first := 0; first < n; first += s.batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := batch{scanner: s, ctx: ctx, first: first, count: min(s.batch, n-first)}
		s.load(x, first, b.count)
		if err := b.run(); err != nil {
			return err
		}
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

// run computes the network and the factors for the inputs that were loaded.
func (b batch) run() error {
	b.release([2]int{})
	if err := b.program.Run(); err != nil {
		return fmt.Errorf("laplace: examples from %d: %w", b.first, err)
	}
	if i, v := graph.FirstNonFinite(b.program.Value(b.out)); i >= 0 && i < b.size() {
		return fmt.Errorf("laplace: the network's output %d at example %d is %g", i%b.outputs, b.first+i/b.outputs, v)
	}
	return nil
}

// take returns memory for n numbers, which are undefined, until the next batch.
func (s *scanner) take(n int) []float64 { return s.double.take(n) }

// mark says how much memory is taken; release gives back what was taken since.
func (s *scanner) mark() [2]int { return [2]int{s.double.taken, s.single.taken} }

func (s *scanner) release(mark [2]int) { s.double.taken, s.single.taken = mark[0], mark[1] }

// working is memory of a batch.
type working[T kernel.Float] struct {
	scratch [][]T      // in the order in which they are taken
	taken   int        // of scratch
	rows    factors[T] // see factorsOf
}

// workingOf returns the scanner's memory of this type.
func workingOf[T kernel.Float](s *scanner) *working[T] {
	if w, ok := any(&s.double).(*working[T]); ok {
		return w
	}
	return any(&s.single).(*working[T])
}

// take returns memory for n numbers, which are undefined, until the next batch.
func (w *working[T]) take(n int) []T {
	if w.taken == len(w.scratch) {
		w.scratch = append(w.scratch, nil)
	}
	if len(w.scratch[w.taken]) < n {
		w.scratch[w.taken] = make([]T, n)
	}
	w.taken++
	return w.scratch[w.taken-1][:n:n]
}

// size is the number of elements.
func (w *working[T]) size() (n int) {
	for _, v := range w.scratch {
		n += len(v)
	}
	return n
}

// load copies count inputs of x [N,…], from number first on, to where the program reads them.
// Copies of the last input fill up the batch.
func (s *scanner) load(x *tensor.Dense, first, count int) {
	if s.float == tensor.Float64 {
		fill(s.x.Float64s(), x, first, count, s.inputSize())
	} else {
		fill(s.x.Float32s(), x, first, count, s.inputSize())
	}
}

// fill is load for inputs of size elements each.
func fill[T kernel.Float](dst []T, x *tensor.Dense, first, count, size int) {
	lo, hi := first*size, (first+count)*size
	if x.Dtype() == tensor.Float64 {
		convert(dst, x.Float64s()[lo:hi])
	} else {
		convert(dst, x.Float32s()[lo:hi])
	}
	for at := count * size; at < len(dst); at += size {
		copy(dst[at:], dst[at-size:at])
	}
}

// batch gives access to the results of the network for the examples first, first+1, ….
type batch struct {
	*scanner                     // has run the batch
	ctx          context.Context // of the pass over the examples
	first, count int             // number of the first example, and number of examples
	lambda       *lambda         // nil: Λ is the identity over σ²
	kept         *rowStore       // of several predictors; nil for one
}

// size is the number of Jacobian rows.
func (b batch) size() int { return b.count * b.outputs }

// mean returns the network's outputs, [count·C], until the next batch. They must not be changed.
func (b batch) mean() []float64 { return rows[float64](b, b.out) }

// inputs returns the batch's inputs, [count,…].
func (b batch) inputs() []float64 {
	return graph.Floats(b.x)[:b.count*b.inputSize()]
}

// inputSize is the number of elements of an input.
func (s *scanner) inputSize() int { return s.x.Shape()[1:].TotalSize() }

// rows returns the values of a factor for the batch's examples, until the next batch. They
// must not be changed.
func rows[T kernel.Float](b batch, n *graph.Node) []T {
	if b.isUnit(n) {
		return rowsOf[T](b, b.unitRows())
	}
	v := b.values[n]
	used := v.Size() / b.batch * b.count
	if v.Dtype() == tensor.Float64 {
		return rowsOf[T](b, v.Float64s()[:used])
	}
	return rowsOf[T](b, v.Float32s()[:used])
}

// rowsOf returns v itself where it has the type asked for.
func rowsOf[T, F kernel.Float](b batch, v []F) []T {
	if same, ok := any(v).([]T); ok {
		return same
	}
	out := workingOf[T](b.scanner).take(len(v))
	convert(out, v)
	return out
}
