package laplace

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// rooted sums up H of a likelihood without Gaussian noise from rows of Λ^½ J, each of which takes one pass back through the
// network. All examples go forward, and those rows that a thinning takes go back, in batches of
// their own.
type rooted struct {
	*posterior                       // whose H is summed up
	thinning                         // chooses rows
	to         byRows                // the structure
	lik        likelihood.Likelihood // of the targets, with unit noise
	forward    *scanner              // the outputs, and the inputs of the layers
	back       *scanner              // of the network pulled, whose inputs wait in x
	waiting    int                   // number of rows that wait
}

// byRows is a structure that takes rows of Λ^½ J one by one, in batches with one output.
type byRows interface {
	structure
	addRows(batch) error
	// addInputs takes the inputs of the layers at all examples, if apart is true. Then addRows
	// is given cotangents alone.
	addInputs(batch) error
	apart() bool
}

// pulled is a network with one output, Σ_c v_c f_c, for inputs x with v [D+C], so that the row of
// its Jacobian is vᵀJ.
type pulled struct {
	layers.Network              // with all outputs
	shape          tensor.Shape // of x
	outputs        int          // C
}

// Forward implements layers.Network.
func (n pulled) Forward(b *graph.Builder, in *graph.Node) *graph.Node {
	size, rows := n.shape.TotalSize(), in.Shape()[0]
	x := b.Reshape(b.Slice(in, 1, 0, size), append([]int{rows}, n.shape...)...)
	out := b.Mul(n.Network.Forward(b, x), b.Slice(in, 1, size, size+n.outputs))
	return b.Reshape(b.SumAxis(out, 1), rows, 1)
}

// newRooted returns nil where the structure needs all rows, where the rows have another form than
// the Jacobian, where the passes back take little time, and where the memory does not suffice.
func (p *posterior) newRooted() (*rooted, error) {
	s := p.scan
	of, ok := p.structure.(byRows)
	if p.evidence.gaussian() || !ok || !s.passesBack() {
		return nil, nil
	}
	r := &rooted{posterior: p, to: of, lik: likelihood.WithNoise(p.evidence.likelihood, 1)}
	if !p.exact {
		r.epsilon = thinned
	}
	if err := r.write(); err != nil {
		return nil, err
	}
	for i, k := range r.back.blocks {
		if !k.like(s.blocks[i]) {
			return nil, nil
		}
	}
	if err := r.compile(); errors.As(err, new(*graph.MemoryError)) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return r, nil
}

// write writes both scanners.
func (r *rooted) write() (err error) {
	s, shape := r.scan, r.scan.in.Shape()[1:]
	if r.forward, err = newScanner(s.net, shape, s.outputs, s.batch, s.keep, nil); err != nil {
		return err
	}
	net := pulled{s.net, shape, s.outputs}
	r.back, err = newScanner(net, tensor.Shape{shape.TotalSize() + s.outputs}, 1, s.batch, s.keep, s.blocks)
	return err
}

// passesBack reports whether an array is used at many places of an input, as the filters of a
// convolution are: then a pass back takes as long as one forward. In a perceptron it takes less,
// and an outer product that the outputs share takes less than one for each row.
func (s *scanner) passesBack() bool {
	for _, k := range s.blocks {
		many := k.places > 1 || k.a == nil && k.param.Value.Dims() > 1
		if many && graph.Dependents(graph.Ancestors(k.d), []*graph.Node{s.in})[k.d] {
			return true
		}
	}
	return false
}

// like reports whether two blocks have factors of the same form.
func (k block) like(other block) bool {
	return (k.a == nil) == (other.a == nil) && (k.images == nil) == (other.images == nil) && (k.tokens == nil) == (other.tokens == nil) &&
		k.swapped == other.swapped && k.p == other.p && k.q == other.q && k.places == other.places
}

// compile compiles both scanners for what the structure reads.
func (r *rooted) compile() error {
	forward, back := []*graph.Node{r.forward.out}, []*graph.Node{r.back.out}
	if !r.to.apart() {
		back = r.back.nodes()
	} else {
		for i, k := range r.forward.blocks {
			if n := k.inputs(); n != nil {
				forward = append(forward, n)
			}
			if back = append(back, r.back.blocks[i].d); k.tokens != nil {
				back = append(back, r.back.blocks[i].tokens)
			}
		}
	}
	if err := r.forward.compile(forward); err != nil {
		return err
	}
	if err := r.back.compile(back); err != nil {
		return err
	}
	r.forward.alias(r.scan)
	r.back.alias(r.scan)
	return r.fits("the posterior", r.structure.bytes()+r.bytes())
}

func (r *rooted) bytes() int64 {
	return r.cost.Bytes + int64(r.forward.program.Bytes()+r.back.program.Bytes())
}

// sum adds up H over the examples d and calls seen after each batch, as posterior.sum does.
func (r *rooted) sum(ctx context.Context, d gp.Examples, seen func(b batch, y []float64)) error {
	c, at := r.scan.outputs, targets{from: d}
	err := r.forward.each(ctx, d.X, func(b batch) error {
		y := at.of(b)
		if err := r.to.addInputs(b); err != nil {
			return err
		}
		mean := b.mean()
		for i := range b.count {
			if err := r.example(b, i, rowOf(y, i*c, len(mean), c), mean[i*c:(i+1)*c]); err != nil {
				return err
			}
		}
		seen(b, y)
		return nil
	})
	if err != nil {
		return err
	}
	return r.flush(ctx)
}

// example takes rows of example i, with these targets and outputs.
func (r *rooted) example(b batch, i int, y, outputs []float64) error {
	r.look(r.lik, y, outputs)
	for c := range outputs {
		if row := r.row(c); r.takes(row) {
			if err := r.push(b, i, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// push makes a row of example i wait for its pass back.
func (r *rooted) push(b batch, i int, row []float64) error {
	if r.scan.float == tensor.Float64 {
		push(r.back.x.Float64s(), r.waiting, b.x.Float64s(), i, b.inputSize(), row)
	} else {
		push(r.back.x.Float32s(), r.waiting, b.x.Float32s(), i, b.inputSize(), row)
	}
	if r.waiting++; r.waiting < r.back.batch {
		return nil
	}
	return r.flush(b.ctx)
}

// push copies example i of x, of size numbers, and a row to number at of the rows that wait.
func push[T kernel.Float](waiting []T, at int, x []T, i, size int, row []float64) {
	to := waiting[at*(size+len(row)):]
	copy(to[:size], x[i*size:])
	convert(to[size:], row)
}

// flush passes back what waits.
func (r *rooted) flush(ctx context.Context) error {
	if r.waiting == 0 {
		return nil
	}
	b := batch{scanner: r.back, ctx: ctx, count: r.waiting}
	r.waiting = 0
	if err := b.run(); err != nil {
		return fmt.Errorf("laplace: rows of Λ^½ J: %w", err)
	}
	return r.to.addRows(b)
}
