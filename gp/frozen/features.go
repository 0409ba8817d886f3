package frozen

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// together is the number of rows that the front computes at a time, as predictions of large networks do. A few hundred rows
// are computed between two writings to a file.
const (
	together = 8
	between  = 256
	oneRow   = "the features of a row" // of which the memory may be too small
)

// Problem returns p for the rest of the network: the inputs of its examples are features. Those that the memory does not
// have are computed, within the memory of r, and r hears of them.
func (c *Cut) Problem(ctx context.Context, p gp.Problem, r gp.Run) (gp.Problem, error) {
	p.Net, p.Augmented = c.Rest, nil
	var err error
	if p.Train.X, err = c.Features(ctx, p.Train.X, r); err != nil || p.Validation == nil {
		return p, err
	}
	held := *p.Validation
	held.X, err = c.Features(ctx, held.X, r)
	p.Validation = &held
	return p, err
}

// Features returns the features [N,Shape…] of inputs x [N,…] in the units and the element type of the network. What
// the memory does not have is computed, by programs of at most the memory of r, and remembered. r hears of the rows.
func (c *Cut) Features(ctx context.Context, x *tensor.Dense, r gp.Run) (*tensor.Dense, error) {
	return (&passes{Cut: c, r: r}).features(ctx, x)
}

// passes compute the features of several sets of rows, with one program.
type passes struct {
	*Cut
	r gp.Run         // memory, and who hears of rows
	f *graph.Batched // nil until a row needs it
}

// features is [Cut.Features].
func (c *passes) features(ctx context.Context, x *tensor.Dense) (*tensor.Dense, error) {
	if err := c.check(x); err != nil {
		return nil, err
	}
	n := x.Shape()[0]
	out := tensor.New(tensor.Of(c.dt), tensor.WithShape(append([]int{n}, c.Shape...)...))
	missing, keys, err := c.recall(x, out)
	if err != nil || len(missing) == 0 {
		return out, err
	}
	if c.f == nil {
		if c.f, err = graph.NewBatchedWithin(oneRow, together, c.r.Limit(), c.write); err != nil {
			return nil, err
		}
	}
	tell, done := c.r.Tell("rows of features"), 0
	for rows := range slices.Chunk(missing, between) {
		err := c.f.Each(ctx, data.TakeRows(x, rows), func(first, count int, y []*tensor.Dense) error {
			for i := range count {
				dense.Put(out, rows[first+i], y[0], i, 1)
			}
			done += count
			tell(done, len(missing))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := c.remember(out, rows, keys); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// check returns an error unless x are inputs of the network.
func (c *Cut) check(x *tensor.Dense) error {
	if err := dense.CheckRows(x); err != nil {
		return err
	}
	if x.Dtype() != c.dt || !slices.Equal(x.Shape()[1:], c.input) {
		return fmt.Errorf("inputs are %v of shape %v, expected %v of shape [N,…] with %v for each", x.Dtype(), x.Shape(), c.dt, c.input)
	}
	return nil
}

// recall copies the features that the memory has to out. It returns the numbers of the other rows, and the keys of all.
func (c *Cut) recall(x, out *tensor.Dense) (missing []int, keys []key, err error) {
	n, h, remembers, v := x.Shape()[0], newHasher(c.dt), c.Memory.remembers(), make([]float64, c.Width())
	for i := range n {
		if !remembers {
			missing = append(missing, i)
			continue
		}
		k := h.row(x, i)
		found, err := c.Memory.copyTo(k, v)
		if err != nil {
			return nil, nil, err
		}
		if keys = append(keys, k); found {
			dense.Put(out, i, graph.Convert(dense.Of(v, 1, len(v)), c.dt), 0, 1)
		} else {
			missing = append(missing, i)
		}
	}
	return missing, keys, nil
}

// remember writes the features of rows to the memory, if there is one.
func (c *Cut) remember(out *tensor.Dense, rows []int, keys []key) error {
	if keys == nil {
		return nil
	}
	own := make([]key, len(rows))
	for i, row := range rows {
		own[i] = keys[row]
	}
	return c.Memory.add(own, data.TakeRows(out, rows))
}

// write writes the front for some rows.
func (c *Cut) write(size int) (graph.Pass, error) {
	b := graph.NewBuilder(c.dt)
	p := graph.Pass{Builder: b, X: b.Input("x", append([]int{size}, c.input...)...)}
	p.Outputs = []*graph.Node{c.Front.Forward(b, p.X)}
	return p, b.Err()
}

// cost returns how many rows the front computes at a time within the memory, and the cost of that.
func (c *Cut) cost(limit int64) (size int, cost graph.Cost, err error) {
	return graph.CostWithin(oneRow, together, limit, c.write)
}

// Plan returns what it takes to compute the features of so many rows within the memory of r.
func (c *Cut) Plan(rows int, r gp.Run) (gp.Estimate, error) {
	size, cost, err := c.cost(r.Limit())
	p := &gp.Plan{What: "features"}
	if err == nil && rows > 0 {
		p.Pass(size, cost, rows, r.Limit())
	}
	return p.Estimate(err)
}
