package train

import (
	"context"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Graph is the objective of a scalar node of an expression graph.
type Graph struct {
	program *graph.Program
	loss    *graph.Node
	params  []Param
	feed    Feed
	id      []string
}

// Feed sets the inputs of a graph to the mini-batch of an iteration.
type Feed interface {
	// Inputs returns the leaves that change from step to step with the tensors
	// that hold their values.
	Inputs() map[*graph.Node]*tensor.Dense
	// Load overwrites those tensors with mini-batch number iteration.
	Load(iteration int) error
}

// NewGraph compiles a scalar loss and its gradients with respect to params. All
// other parameters are constants; what depends on them alone is computed once.
func NewGraph(b *graph.Builder, loss *graph.Node, params []*graph.Param, feed Feed) (*Graph, error) {
	var wrt, varying []*graph.Node
	for _, p := range params {
		wrt = append(wrt, b.Param(p))
	}
	varying = append(varying, wrt...)
	for leaf := range feed.Inputs() {
		varying = append(varying, leaf)
	}
	grads := graph.Grad(b, loss, wrt...)
	program, err := graph.Compile(b, append([]*graph.Node{loss}, grads...), graph.Options{Varying: varying})
	if err != nil {
		return nil, err
	}
	for leaf, v := range feed.Inputs() {
		if err := program.Bind(leaf, v); err != nil {
			return nil, err
		}
	}
	g := &Graph{program: program, loss: loss, feed: feed}
	for i, p := range params {
		g.params = append(g.params, Param{Name: p.Name, Value: p.Value, Grad: program.Value(grads[i])})
	}
	return g, nil
}

// Identify adds lines to what tells runs apart, see [Identifier].
func (g *Graph) Identify(lines ...string) { g.id = append(g.id, lines...) }

// Identity implements Identifier.
func (g *Graph) Identity() []string {
	if f, ok := g.feed.(Identifier); ok {
		return append(f.Identity(), g.id...)
	}
	return g.id
}

// Params implements Objective.
func (g *Graph) Params() []Param { return g.params }

// Evaluate implements Objective.
func (g *Graph) Evaluate(_ context.Context, iteration int) (float64, error) {
	if err := g.feed.Load(iteration); err != nil {
		return 0, err
	}
	if err := g.program.Run(); err != nil {
		return 0, err
	}
	return g.program.Scalar(g.loss), nil
}

// Program returns the compiled program, for its memory and number of steps.
func (g *Graph) Program() *graph.Program { return g.program }

// Batches feeds random mini-batches of a data set to two inputs of a graph.
type Batches struct {
	x, y       *tensor.Dense // all examples
	xb, yb     *tensor.Dense // one mini-batch
	xn, yn     *graph.Node
	sampler    *data.Sampler
	rows       []int
	xwid, ywid int
}

// NewBatches adds the inputs "x" [B,…] and "y" [B,…] to the graph and feeds them
// from x [N,…] and y [N,…], B rows at a time as [data.Sampler] deals them. B is
// lowered to N where there are fewer examples. The tensors are used as they are.
func NewBatches(b *graph.Builder, x, y *tensor.Dense, size int, seed uint64) (*Batches, error) {
	n := x.Shape()[0]
	if y.Shape()[0] != n {
		return nil, fmt.Errorf("train: inputs of shape %v with targets of shape %v", x.Shape(), y.Shape())
	}
	if x.Dtype() != b.Dtype() || y.Dtype() != b.Dtype() {
		return nil, fmt.Errorf("train: inputs are %v and targets %v, the graph %v", x.Dtype(), y.Dtype(), b.Dtype())
	}
	sampler, err := data.NewSampler(n, min(size, n), seed)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	m := &Batches{x: x, y: y, sampler: sampler}
	m.xb, m.xn, m.xwid = m.input(b, "x", x)
	m.yb, m.yn, m.ywid = m.input(b, "y", y)
	return m, b.Err()
}

func (m *Batches) input(b *graph.Builder, name string, all *tensor.Dense) (*tensor.Dense, *graph.Node, int) {
	shape := all.Shape().Clone()
	width := shape.TotalSize() / shape[0]
	shape[0] = m.sampler.B
	return tensor.New(tensor.Of(all.Dtype()), tensor.WithShape(shape...)), b.Input(name, shape...), width
}

// X returns the node of the mini-batch's inputs, [B,…].
func (m *Batches) X() *graph.Node { return m.xn }

// Y returns the node of the mini-batch's targets, [B,…].
func (m *Batches) Y() *graph.Node { return m.yn }

// Identity implements Identifier.
func (m *Batches) Identity() []string {
	return []string{
		fmt.Sprintf("batches of %d of %d rows, seed %d", m.sampler.B, m.sampler.N, m.sampler.Seed),
		fmt.Sprintf("inputs %v with checksum %08x", m.x.Shape(), checksum(m.x)),
		fmt.Sprintf("targets %v with checksum %08x", m.y.Shape(), checksum(m.y)),
	}
}

// checksum is the CRC-32 (Castagnoli) of a tensor's memory.
func checksum(t *tensor.Dense) uint32 {
	if t.Dtype() == tensor.Float64 {
		return crc(t.Float64s())
	}
	return crc(t.Float32s())
}

func crc[T Float](v []T) uint32 {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
	return crc32.Checksum(bytes, crc32.MakeTable(crc32.Castagnoli))
}

// Inputs implements Feed.
func (m *Batches) Inputs() map[*graph.Node]*tensor.Dense {
	return map[*graph.Node]*tensor.Dense{m.xn: m.xb, m.yn: m.yb}
}

// Load implements Feed.
func (m *Batches) Load(iteration int) error {
	m.rows = m.sampler.Batch(iteration, m.rows)
	gather(m.xb, m.x, m.xwid, m.rows)
	gather(m.yb, m.y, m.ywid, m.rows)
	return nil
}

func gather(dst, src *tensor.Dense, width int, rows []int) {
	if dst.Dtype() == tensor.Float64 {
		data.Gather(dst.Float64s(), src.Float64s(), width, rows)
	} else {
		data.Gather(dst.Float32s(), src.Float32s(), width, rows)
	}
}
