package train

import (
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/go-valla/valla/internal/kernel"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Source gives the inputs of training examples. They may differ from iteration to
// iteration, as augmented images do.
type Source interface {
	// Shape returns [N,…], the shape that all inputs together have.
	Shape() tensor.Shape
	// Load puts the examples with the numbers rows, as they are in an iteration, into
	// dst [len(rows),…].
	Load(dst *tensor.Dense, rows []int, iteration int) error
	// Identity says in words what must be equal for the inputs to be the same.
	Identity() string
}

// Batches feeds random mini-batches of a data set to two inputs of a graph.
type Batches struct {
	x       Source        // all inputs
	y       *tensor.Dense // all targets
	xb, yb  *tensor.Dense // one part of a mini-batch
	xn, yn  *graph.Node   // leaves of the graph for xb and yb
	sampler *data.Sampler // deals the mini-batches
	parts   int           // of a mini-batch
	rows    []int         // numbers of the examples of the mini-batch
	loaded  int           // number of the mini-batch in rows, plus 1
}

// NewBatches adds the inputs "x" [B,…] and "y" [B,…] to the graph and feeds them
// from x [N,…] and y [N,…], B rows at a time as [data.Sampler] deals them. B is
// lowered to N where there are fewer examples. The tensors are used as they are.
func NewBatches(b *graph.Builder, x, y *tensor.Dense, size int, seed uint64) (*Batches, error) {
	return NewBatchesOf(b, Rows{x}, y, size, 1, seed)
}

// NewBatchesOf is NewBatches for any source of inputs. It feeds each mini-batch in parts of
// equal size, so that the inputs of the graph have B/parts rows.
func NewBatchesOf(b *graph.Builder, x Source, y *tensor.Dense, size, parts int, seed uint64) (*Batches, error) {
	n := x.Shape()[0]
	if y.Shape()[0] != n {
		return nil, fmt.Errorf("train: inputs of shape %v with targets of shape %v", x.Shape(), y.Shape())
	}
	if r, ok := x.(Rows); ok && r.All.Dtype() != b.Dtype() || y.Dtype() != b.Dtype() {
		return nil, fmt.Errorf("train: inputs and targets %v, the graph %v; expected one element type", y.Dtype(), b.Dtype())
	}
	size = min(size, n)
	if parts < 1 || size%parts != 0 {
		return nil, fmt.Errorf("train: mini-batches of %d in %d parts, expected parts of equal size", size, parts)
	}
	sampler, err := data.NewSampler(n, size, seed)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	m := &Batches{x: x, y: y, sampler: sampler, parts: parts}
	m.xb, m.xn = m.input(b, "x", x.Shape())
	m.yb, m.yn = m.input(b, "y", y.Shape())
	return m, b.Err()
}

func (m *Batches) input(b *graph.Builder, name string, all tensor.Shape) (*tensor.Dense, *graph.Node) {
	shape := all.Clone()
	shape[0] = m.sampler.B / m.parts
	return tensor.New(tensor.Of(b.Dtype()), tensor.WithShape(shape...)), b.Input(name, shape...)
}

// X returns the node of the mini-batch's inputs, [B/parts,…].
func (m *Batches) X() *graph.Node { return m.xn }

// Y returns the node of the mini-batch's targets, [B/parts,…].
func (m *Batches) Y() *graph.Node { return m.yn }

// Identity implements Identifier.
func (m *Batches) Identity() []string {
	return []string{
		fmt.Sprintf("batches of %d of %d rows in %d parts, seed %d", m.sampler.B, m.sampler.N, m.parts, m.sampler.Seed),
		m.x.Identity(),
		"targets " + Checksum(m.y),
	}
}

// Inputs implements Feed.
func (m *Batches) Inputs() map[*graph.Node]*tensor.Dense {
	return map[*graph.Node]*tensor.Dense{m.xn: m.xb, m.yn: m.yb}
}

// Parts implements Feed.
func (m *Batches) Parts() int { return m.parts }

// Load implements Feed.
func (m *Batches) Load(iteration, part int) error {
	if m.loaded != iteration+1 {
		m.rows, m.loaded = m.sampler.Batch(iteration, m.rows), iteration+1
	}
	size := len(m.rows) / m.parts
	rows := m.rows[part*size : (part+1)*size]
	gather(m.yb, m.y, rows)
	return m.x.Load(m.xb, rows, iteration)
}

// Rows are inputs that stay as they are, All [N,…].
type Rows struct{ All *tensor.Dense }

// Shape implements Source.
func (r Rows) Shape() tensor.Shape { return r.All.Shape() }

// Load implements Source.
func (r Rows) Load(dst *tensor.Dense, rows []int, _ int) error {
	gather(dst, r.All, rows)
	return nil
}

// Identity implements Source.
func (r Rows) Identity() string {
	return "inputs " + Checksum(r.All)
}

func gather(dst, src *tensor.Dense, rows []int) {
	width := src.Shape().TotalSize() / src.Shape()[0]
	if dst.Dtype() == tensor.Float64 {
		data.Gather(dst.Float64s(), src.Float64s(), width, rows)
	} else {
		data.Gather(dst.Float32s(), src.Float32s(), width, rows)
	}
}

// Checksum tells tensors apart in an identity, by their shape and a checksum of their
// elements.
func Checksum(t *tensor.Dense) string {
	return fmt.Sprintf("%v with checksum %08x", t.Shape(), checksum(t))
}

// checksum is the CRC-32 (Castagnoli) of a tensor's memory.
func checksum(t *tensor.Dense) uint32 {
	if t.Dtype() == tensor.Float64 {
		return crc(t.Float64s())
	}
	return crc(t.Float32s())
}

func crc[T kernel.Float](v []T) uint32 {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
	return crc32.Checksum(bytes, crc32.MakeTable(crc32.Castagnoli))
}
