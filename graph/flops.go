package graph

import (
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// counted is an operation that knows how many floating-point operations it takes: additions,
// multiplications and functions of an element, each of which counts one. An operation without
// this method takes one for each element of its result, unless it only copies elements.
type counted interface {
	Flops(in []tensor.Shape, out tensor.Shape) int
}

// Flops returns how many floating-point operations the parts take that run once, and how many
// each Run takes. It counts what is computed, so that a product with a triangular matrix counts
// as one with any other. What the functions of [Builder.Call] compute is not known and not counted.
func (p *Program) Flops() (once, each int) { return p.m.flops() }

func (c *code[T]) flops() (once, each int) {
	return workOf(c.once).flops, workOf(c.each).flops
}

// Work is the work of a program. The operations are those of [Program.Flops].
type Work struct {
	Products float64 // operations of products, convolutions and solutions of linear systems
	Elements float64 // numbers that all other operations write
	Steps    float64 // operations of the graph
}

// Plus returns the sum of two works.
func (w Work) Plus(o Work) Work {
	return Work{w.Products + o.Products, w.Elements + o.Elements, w.Steps + o.Steps}
}

// Times returns the work of so many runs.
func (w Work) Times(runs float64) Work {
	return Work{w.Products * runs, w.Elements * runs, w.Steps * runs}
}

// Cost says what a program takes.
type Cost struct {
	Bytes      int64 // memory, see [Program.Bytes]
	Once, Each Work  // the work of the parts that run once, and of each Run
	Single     bool  // the numbers are float32
}

// work is a Work with the sum of its operations, as [Program.Flops] counts them.
type work struct {
	Work
	flops int // operations
}

func workOf[T kernel.Float](steps []*step[T]) (w work) {
	w.Steps = float64(len(steps))
	for _, s := range steps {
		n := size(s.e.shape)
		switch op := s.e.op.(type) {
		case counted:
			in := shapesOf(s.e.in)
			n = op.Flops(in, s.e.shape)
			w.flops += n
			if alone, multiplies := oneByOne(op, in, s.e.shape); multiplies {
				w.Products += float64(n - alone)
				n = alone
			}
		case nil, panels, transpose, window, concat, broadcastTo, pick: // only copied
		case call: // not known
		default:
			w.flops += n
		}
		w.Elements += float64(n)
	}
	return w
}

// oneByOne returns whether an operation mostly makes products of matrices, and how many of its operations handle one
// number at a time.
func oneByOne(op counted, in []tensor.Shape, out tensor.Shape) (alone int, multiplies bool) {
	switch op := op.(type) {
	case matMul, panelled, gram, cholesky, solveLower, contract, stepSums:
		return 0, true
	case conv:
		c, slow := op.convolution.(groupConv)
		return 0, !slow || c.products()
	case recurrence:
		return op.cell.gateFlops(in[1], out), true
	case linearScan:
		return op.cell.gateFlops(in[1], out), true
	}
	return 0, false
}

// Flops implements counted.
func (r matMul) Flops(in []tensor.Shape, _ tensor.Shape) int {
	stack, m, n, k, _ := r.dims(in)
	return 2 * stack * m * n * k
}

// Flops implements counted.
func (r panelled) Flops([]tensor.Shape, tensor.Shape) int { return 2 * r.m * r.of.n * r.of.k }

// Flops implements counted: one triangle is computed, and the other is its copy.
func (gram) Flops(in []tensor.Shape, _ tensor.Shape) int {
	return size(in[0]) * (in[0][len(in[0])-2] + 1)
}

// Flops implements counted.
func (cholesky) Flops(in []tensor.Shape, _ tensor.Shape) int { return in[0][0] * size(in[0]) / 3 }

// Flops implements counted.
func (solveLower) Flops(in []tensor.Shape, _ tensor.Shape) int { return in[0][0] * size(in[1]) }

// Flops implements counted. Taps beyond the edge count, too.
func (r conv) Flops([]tensor.Shape, tensor.Shape) int {
	w := r.shape(filters)
	return 2 * max(r.rows.X, r.rows.W, r.rows.Y) * size(r.shape(results)) * size(w[1:])
}

// Flops implements counted.
func (contract) Flops(in []tensor.Shape, _ tensor.Shape) int {
	full, _ := broadcast(in[0], in[1])
	return 2 * size(full)
}

// Flops implements counted.
func (sumTo) Flops(in []tensor.Shape, _ tensor.Shape) int { return size(in[0]) }

// Flops implements counted: a maximum, a difference, an exponential, a sum, and a difference.
func (logSoftmax) Flops(in []tensor.Shape, _ tensor.Shape) int { return 5 * size(in[0]) }

// Flops implements counted.
func (r averagePool) Flops(in []tensor.Shape, out tensor.Shape) int {
	if r.spread {
		return size(in[0]) * r.size[0] * r.size[1]
	}
	return size(out) * r.size[0] * r.size[1]
}

// Flops implements counted.
func (r unfold) Flops(in []tensor.Shape, _ tensor.Shape) int { return added(r.fold, in[0]) }

// Flops implements counted.
func (r gather) Flops(in []tensor.Shape, _ tensor.Shape) int { return added(r.scatter, in[0]) }

// Flops implements counted.
func (r maxPool) Flops(in []tensor.Shape, _ tensor.Shape) int { return added(r.scatter, in[1]) }

// added returns the additions of an operation that adds its operand to zeros, or only copies it.
func added(adds bool, in tensor.Shape) int {
	if adds {
		return size(in)
	}
	return 0
}

// Flops implements counted.
func (r embed) Flops(in []tensor.Shape, _ tensor.Shape) int { return added(r.scatter, in[0]) }
