package ella

import (
	"context"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// kernelOf returns K̂ = J_Z J_Zᵀ [M,M] of the points p. Where a program for all points needs
// more than limit bytes it is computed in blocks, and tell hears of each.
func kernelOf(ctx context.Context, net layers.Network, p points, limit int64, tell func(done, total int)) ([]float64, error) {
	m := p.n()
	k := make([]float64, m*m)
	of := p.picked(net)
	x := p.inputs(of)
	g, err := halved("the kernel of the points", m, limit-8*int64(m)*int64(m)-dense.Bytes(x), func(size int) (*blocks, int64, error) {
		return planBlocks(of, x, size)
	})
	if err == nil {
		err = g.compile()
	}
	if err == nil {
		done, starts := 0, len(startsOf(m, g.size))
		err = g.each(ctx, func(i, j int, v *tensor.Dense) {
			place(k, m, i, j, g.size, graph.Floats(v))
			done++
			tell(done, starts*(starts+1)/2)
		})
	}
	return k, fault.In("ella", err)
}

// halved returns what make makes for n, or for the half of it, a quarter, and so on, until
// it needs at most limit bytes. The error is a *graph.MemoryError if 1 is too much.
func halved[T any](what string, n int, limit int64, make func(size int) (T, int64, error)) (T, error) {
	for {
		v, bytes, err := make(n)
		switch {
		case err != nil || bytes <= limit:
			return v, err
		case n == 1:
			return v, &graph.MemoryError{What: what, Need: bytes, Limit: max(0, limit)}
		}
		n = (n + 1) / 2
	}
}

// place copies a block v [size,size] to the rows from i and the columns from j of a
// symmetric k [m,m], and its transpose to the other side.
func place(k []float64, m, i, j, size int, v []float64) {
	for r := range size {
		for c := range size {
			k[(i+r)*m+j+c] = v[r*size+c]
			k[(j+c)*m+i+r] = v[r*size+c]
		}
	}
}

// blocks computes the kernel among blocks of points. The Jacobians of the first block of a
// pair are computed once for all second ones.
type blocks struct {
	x    *tensor.Dense  // [M, D+C]
	size int            // points in a block
	b    *graph.Builder // of the graph

	first, second *graph.Node       // [size, D+C]
	own, cross    *graph.Node       // [size,size]; cross is nil where one block is all
	buffers       [2]*tensor.Dense  // what the programs read for first and second
	programs      [2]*graph.Program // of a block with itself, and of two blocks
	drafts        [2]*graph.Draft   // of the programs; nil: there is a single block
}

// planBlocks writes the kernel in blocks into a graph, and says how many bytes it needs.
func planBlocks(net gp.Picked, x *tensor.Dense, size int) (*blocks, int64, error) {
	g := &blocks{x: x, size: size, b: graph.NewBuilder(x.Dtype())}
	kernel, class, width := jacobian.NTK{Net: net}, make([]int, size), x.Shape()[1]
	g.first = g.b.Input("first", size, width)
	g.own = kernel.Gram(g.b, g.first, class)
	if size < x.Shape()[0] {
		g.second = g.b.Input("second", size, width)
		g.cross = kernel.Cross(g.b, g.first, g.second, class)
	}
	var err error
	g.drafts[0], err = graph.NewDraft(g.b, []*graph.Node{g.own}, graph.Options{})
	if err == nil && g.cross != nil {
		g.drafts[1], err = graph.NewDraft(g.b, []*graph.Node{g.cross}, graph.Options{Varying: []*graph.Node{g.second}})
	}
	if err != nil {
		return nil, 0, err
	}
	return g, g.bytes(), nil
}

// bytes is the memory of the programs with what they read, and a block of the kernel.
func (g *blocks) bytes() int64 {
	buffers := 2 * int64(g.size*g.x.Shape()[1]) * int64(g.x.Dtype().Size())
	programs := g.drafts[0].Bytes()
	if g.cross != nil {
		programs += g.drafts[1].Bytes()
	}
	return programs + buffers + gp.Numbers(g.size, g.size)
}

// compile makes the programs: one for a block with itself, and one for two blocks.
func (g *blocks) compile() error {
	for i := range g.buffers {
		g.buffers[i] = tensor.New(tensor.Of(g.x.Dtype()), tensor.WithShape(g.first.Shape()...))
	}
	var err error
	if g.programs[0], err = g.drafts[0].Compile(); err != nil {
		return err
	}
	if err := g.programs[0].Bind(g.first, g.buffers[0]); err != nil || g.cross == nil {
		return err
	}
	if g.programs[1], err = g.drafts[1].Compile(); err != nil {
		return err
	}
	if err := g.programs[1].Bind(g.first, g.buffers[0]); err != nil {
		return err
	}
	return g.programs[1].Bind(g.second, g.buffers[1])
}

// each computes the kernel of each pair of blocks, which begin at the points i ≤ j, and
// hands the kernel to visit. The last block overlaps the block before where the points do not divide
// evenly.
func (g *blocks) each(ctx context.Context, visit func(i, j int, k *tensor.Dense)) error {
	starts := startsOf(g.x.Shape()[0], g.size)
	for a, i := range starts {
		if err := ctx.Err(); err != nil {
			return err
		}
		dense.Put(g.buffers[0], 0, g.x, i, g.size)
		if err := g.programs[0].Run(); err != nil {
			return err
		}
		visit(i, i, g.programs[0].Value(g.own))
		if g.cross != nil {
			g.programs[1].Refresh()
		}
		for _, j := range starts[a+1:] {
			if err := ctx.Err(); err != nil {
				return err
			}
			dense.Put(g.buffers[1], 0, g.x, j, g.size)
			if err := g.programs[1].Run(); err != nil {
				return err
			}
			visit(i, j, g.programs[1].Value(g.cross))
		}
	}
	return nil
}

// startsOf lists the first rows of blocks of size rows each; the last block ends with row n−1.
func startsOf(n, size int) []int {
	var starts []int
	for i := 0; i < n; i += size {
		starts = append(starts, min(i, n-size))
	}
	return starts
}
