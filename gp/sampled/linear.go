package sampled

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// rowsAtOnce is how many training rows are differentiated at a time.
const rowsAtOnce = 500

// linear is a network g(x) + J(x) w, linearized in the weights. Directions and sums of
// gradients are P numbers each, in float64.
type linear struct {
	net     layers.Network // the network g
	dt      tensor.Dtype   // of the network
	input   tensor.Shape   // of one row
	outputs int            // C
	p       int            // P
	size    int            // rows in a batch
	threads int            // directions at a time
	cost    graph.Cost     // of a pass of the kind both

	tell     func(rows, of int) // if not nil, it is called after each batch of a pass
	planned  *pass              // of the kind both, not compiled yet
	programs [4][]*pass         // by kind, one for each thread
}

// kind says what a pass over the rows computes.
type kind int

const (
	both  kind = iota // J v, from it cotangents c, and Jᵀ c
	pull              // Jᵀ c
	push              // J v
	plain             // the outputs alone
)

// visitor returns the cotangents c [n,C] of rows from number first on, for direction s. It
// gets the network's outputs [n,C] and J v_s [n,C], which has no meaning in a pull; in a push
// the result is not used. It is called for all rows of a direction in their order, for several
// directions at a time. In a plain pass v and the result have no meaning.
type visitor func(s, first int, out, along []float64) []float64

// newLinear plans the passes over rows of a shape, for so many directions at a time within limit bytes, or for one where
// no batch of rows is small enough for more. Programs of two kinds exist at a time.
func newLinear(net layers.Network, dt tensor.Dtype, input tensor.Shape, outputs, threads int, limit int64) (*linear, error) {
	l := &linear{net: net, dt: dt, input: input.Clone(), outputs: outputs, p: layers.Count(net), threads: max(1, threads)}
	size, _, err := graph.Tile("sampled: a pass over training rows", rowsAtOnce, max(1, limit/2/int64(l.threads)), func(size int) (_ int64, err error) {
		if l.planned, err = l.write(both, size); err != nil {
			return 0, err
		}
		l.cost = l.planned.draft.Cost()
		return l.cost.Bytes, nil
	})
	if over := (*graph.MemoryError)(nil); threads > 1 && errors.As(err, &over) {
		return newLinear(net, dt, input, outputs, 1, limit)
	}
	l.size = size
	return l, err
}

// pass is a compiled pass over the rows of a batch, for one direction at a time.
type pass struct {
	b        *graph.Builder // of the graph
	x        *graph.Node    // rows [B,…]
	tangents []*graph.Node  // of each parameter; without J v a single leaf, which stands for the direction
	results  []*graph.Node  // gradients of each parameter; the cotangents without Jᵀ c
	draft    *graph.Draft   // of program
	program  *graph.Program // computes results
	at       *tensor.Dense  // x

	s, first, n int     // the direction, and the rows that count
	visit       visitor // returns the cotangents of the rows
}

// write writes a pass over size rows into a graph, and plans its program.
func (l *linear) write(k kind, size int) (*pass, error) {
	p := &pass{b: graph.NewBuilder(l.dt)}
	p.x = p.b.Input("x", append([]int{size}, l.input...)...)
	out := l.net.Forward(p.b, p.x)
	if err := p.b.Err(); err != nil {
		return nil, fmt.Errorf("sampled: %w", err)
	}
	if want := []int{size, l.outputs}; !slices.Equal(out.Shape(), want) {
		return nil, fmt.Errorf("sampled: the network's outputs for %d rows have shape %v, the targets need %v", size, out.Shape(), want)
	}
	var wrt []*graph.Node
	for i, param := range l.net.Params() {
		wrt = append(wrt, p.b.Param(param))
		if k == both || k == push {
			p.tangents = append(p.tangents, p.b.Input(fmt.Sprint("tangent ", i), param.Value.Shape()...))
		}
	}
	var along []*graph.Node
	if k == pull || k == plain {
		p.tangents = []*graph.Node{p.b.Input("direction", 1)}
		along = p.tangents
	} else {
		along = graph.JVP(p.b, []*graph.Node{out}, wrt, p.tangents)
	}
	p.results = []*graph.Node{p.b.Call("cotangents", out.Shape(), p.cotangents, out, along[0])}
	if k == both || k == pull {
		p.results = graph.VJP(p.b, []*graph.Node{out}, p.results, wrt)
	}
	// What depends on the rows alone is computed once for all directions.
	var err error
	p.draft, err = graph.NewDraft(p.b, p.results, graph.Options{Varying: p.tangents})
	return p, err
}

// cotangents is called by the program. Rows that fill up a batch have zeros.
func (p *pass) cotangents(in [][]float64) ([]float64, error) {
	out, along := in[0], in[1]
	n := len(out) / p.x.Shape()[0] * p.n
	ct := make([]float64, len(out))
	copy(ct, p.visit(p.s, p.first, out[:n], along[:min(n, len(along))]))
	return ct, nil
}

// compiled returns n passes of a kind.
func (l *linear) compiled(k kind, n int) ([]*pass, error) {
	for len(l.programs[k]) < n {
		p, err := l.planned, error(nil)
		if k == both && p != nil {
			l.planned = nil
		} else if p, err = l.write(k, l.size); err != nil {
			return nil, err
		}
		if p.program, err = p.draft.Compile(); err != nil {
			return nil, err
		}
		p.draft = nil
		p.at = tensor.New(tensor.Of(l.dt), tensor.WithShape(p.x.Shape()...))
		if err := p.program.Bind(p.x, p.at); err != nil {
			return nil, err
		}
		l.programs[k] = append(l.programs[k], p)
	}
	return l.programs[k][:n], nil
}

// sweep goes over the rows x [N,…] for the directions with the numbers which. For each it
// hands J v to visit and adds Jᵀ c to sum, where c is what visit returns. v and sum hold all
// directions, [S,P]; v is nil without J v, and sum without Jᵀ c.
func (l *linear) sweep(ctx context.Context, k kind, x *tensor.Dense, which []int, v, sum []float64, visit visitor) error {
	passes, err := l.compiled(k, min(len(which), l.threads))
	if err != nil {
		return err
	}
	w := &sweeping{linear: l, passes: passes, which: which, x: x, sum: sum, errs: make([]error, len(passes))}
	w.bound = l.bound(which, v)
	for _, p := range passes {
		p.visit = visit
	}
	for w.first = 0; w.first < x.Shape()[0]; w.first += l.size {
		if err := ctx.Err(); err != nil {
			return err
		}
		kernel.Parallel(len(passes), w)
		for _, err := range w.errs {
			if err != nil {
				return fmt.Errorf("sampled: rows from number %d: %w", w.first, err)
			}
		}
		if n := x.Shape()[0]; l.tell != nil {
			l.tell(min(w.first+l.size, n), n)
		}
	}
	return nil
}

// bound returns what the leaves of a pass are bound to for each direction: the chosen rows of
// v [S,P] in the network's element type, cut into its parameters' shapes.
func (l *linear) bound(which []int, v []float64) [][]*tensor.Dense {
	if v == nil {
		return slices.Repeat([][]*tensor.Dense{{tensor.New(tensor.Of(l.dt), tensor.WithShape(1))}}, len(which))
	}
	all := make([]float64, len(which)*l.p)
	for i, s := range which {
		copy(all[i*l.p:(i+1)*l.p], v[s*l.p:])
	}
	typed := dense.Of(all, len(which), l.p)
	if l.dt != tensor.Float64 {
		typed = graph.Convert(typed, l.dt)
	}
	parts := make([][]*tensor.Dense, len(which))
	for i := range parts {
		parts[i] = jacobian.Parts(l.net, typed, i)
	}
	return parts
}

// sweeping is the kernel.Job of a batch: each part takes every so many of the directions.
type sweeping struct {
	*linear
	passes []*pass           // one for each thread
	which  []int             // numbers of the directions
	bound  [][]*tensor.Dense // what the leaves of a pass read, by direction
	x      *tensor.Dense     // the rows [N,…]
	first  int               // number of the first row of the batch
	sum    []float64         // results of all directions [S,P]; nil without Jᵀ c
	errs   []error           // of each pass
}

// Run implements kernel.Job.
func (w *sweeping) Run(part, parts int) {
	p := w.passes[part]
	p.first, p.n = w.first, min(w.size, w.x.Shape()[0]-w.first)
	p.fill(w.x)
	p.program.Refresh()
	for i := part; i < len(w.which); i += parts {
		if w.errs[part] = w.one(p, i); w.errs[part] != nil {
			return
		}
	}
}

// one runs a pass for direction number i of the chosen ones.
func (w *sweeping) one(p *pass, i int) error {
	p.s = w.which[i]
	for j, leaf := range p.tangents {
		if err := p.program.Bind(leaf, w.bound[i][j]); err != nil {
			return err
		}
	}
	if err := p.program.Run(); err != nil || w.sum == nil {
		return err
	}
	at := p.s * w.p
	for _, g := range p.results {
		n := g.Shape().TotalSize()
		if v := p.program.Value(g); w.dt == tensor.Float64 {
			accumulate(w.sum[at:at+n], v.Float64s())
		} else {
			accumulate(w.sum[at:at+n], v.Float32s())
		}
		at += n
	}
	return nil
}

// accumulate adds v to sum.
func accumulate[T kernel.Float](sum []float64, v []T) {
	for i, g := range v {
		sum[i] += float64(g)
	}
}

// fill puts the rows that count into the batch, and repeats the last row to its end.
func (p *pass) fill(x *tensor.Dense) {
	dense.Put(p.at, 0, x, p.first, p.n)
	for row := p.n; row < p.at.Shape()[0]; row++ {
		dense.Put(p.at, row, x, p.first+p.n-1, 1)
	}
}
