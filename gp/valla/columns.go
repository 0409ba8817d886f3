package valla

import (
	"cmp"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// columns computes columns of the prior kernel among candidates, as the greedy choice asks for
// them. Candidate n stands for output n mod C.
type columns struct {
	k       jacobian.NTK
	x       *tensor.Dense     // candidates [N,…]
	outputs int               // C
	block   picked            // candidates whose columns a run computes
	part    *tensor.Dense     // candidates whose Jacobians the program keeps [size,…]
	first   int               // number of the first of them; −1 before they are read
	program *graph.Program    // computes values
	values  *graph.Node       // the kernel between block and part [columnsAtOnce,1,size]
	known   map[int][]float64 // the columns [N] so far
}

// picked is what programs read of some candidates: the inputs, and the outputs as vectors with a
// single 1.
type picked struct{ x, seeds *tensor.Dense } // [B,…], [B,1,C]

const (
	// columnsAtOnce is how many columns a run computes: the column that is asked for, and the columns of the candidates
	// with the largest variances beside it, most of which are asked for soon.
	columnsAtOnce = 16
	// variancesAtOnce is how many variances a run computes.
	variancesAtOnce = 256
)

// newColumns makes ready to compute columns. The Jacobians of all candidates are kept; where this takes more than memory
// bytes, they are computed in parts for each run. A memory of 0 is without a limit.
func newColumns(k jacobian.NTK, x *tensor.Dense, outputs int, memory int64) (*columns, error) {
	c := &columns{k: k, x: x, outputs: outputs, first: -1, known: map[int][]float64{}}
	var block, seeds, part *graph.Node
	var err error
	c.program, err = largest(x.Shape()[0], outputs, memory, func(size int) (*graph.Draft, error) {
		b := graph.NewBuilder(x.Dtype())
		block, seeds = c.leaves(b, columnsAtOnce)
		part = b.Input("candidates", c.shape(size)...)
		c.values = k.Combined(seeds).Cross(b, block, part, dense.Cycle(size, outputs))
		return graph.NewDraft(b, []*graph.Node{c.values}, graph.Options{Varying: []*graph.Node{block, seeds}})
	})
	if err != nil {
		return nil, err
	}
	if c.block, err = c.bind(c.program, block, seeds); err != nil {
		return nil, err
	}
	c.part = tensor.New(tensor.Of(x.Dtype()), tensor.WithShape(part.Shape()...))
	return c, c.program.Bind(part, c.part)
}

// largest compiles the program for the most of n examples, a multiple of each, that needs at most memory bytes; if
// there is none, the program for the fewest.
func largest(n, each int, memory int64, write func(size int) (*graph.Draft, error)) (*graph.Program, error) {
	groups := (n + each - 1) / each
	for {
		d, err := write(groups * each)
		if err != nil {
			return nil, err
		}
		if memory == 0 || d.Bytes() <= memory || groups == 1 {
			return d.Compile()
		}
		groups = (groups + 1) / 2
	}
}

// shape is the shape of n candidates.
func (c *columns) shape(n int) []int { return append([]int{n}, c.x.Shape()[1:]...) }

// leaves are the nodes for n picked candidates.
func (c *columns) leaves(b *graph.Builder, n int) (x, seeds *graph.Node) {
	return b.Input("picked", c.shape(n)...), b.Input("outputs", n, 1, c.outputs)
}

// bind makes p read picked candidates.
func (c *columns) bind(p *graph.Program, x, seeds *graph.Node) (picked, error) {
	to := picked{tensor.New(tensor.Of(c.x.Dtype()), tensor.WithShape(x.Shape()...)), tensor.New(tensor.Of(c.x.Dtype()), tensor.WithShape(seeds.Shape()...))}
	if err := p.Bind(x, to.x); err != nil {
		return to, err
	}
	return to, p.Bind(seeds, to.seeds)
}

// pick puts candidates where a program reads them. The last one fills up the rest.
func (c *columns) pick(to picked, rows []int) {
	to.seeds.Zero()
	for i := range to.x.Shape()[0] {
		row := rows[min(i, len(rows)-1)]
		dense.Put(to.x, i, c.x, row, 1)
		at := i*c.outputs + row%c.outputs
		if to.seeds.Dtype() == tensor.Float32 {
			to.seeds.Float32s()[at] = 1
		} else {
			to.seeds.Float64s()[at] = 1
		}
	}
}

// variances returns the kernel of each candidate with itself [N].
func (c *columns) variances(memory int64) ([]float64, error) {
	var x, seeds, values *graph.Node
	p, err := largest(min(c.x.Shape()[0], variancesAtOnce), 1, memory, func(size int) (*graph.Draft, error) {
		b := graph.NewBuilder(c.x.Dtype())
		x, seeds = c.leaves(b, size)
		values = c.k.Combined(seeds).Variances(b, x)
		return graph.NewDraft(b, []*graph.Node{values}, graph.Options{})
	})
	if err != nil {
		return nil, err
	}
	to, err := c.bind(p, x, seeds)
	if err != nil {
		return nil, err
	}
	var all []float64
	for rows := range slices.Chunk(dense.Indices(c.x.Shape()[0]), x.Shape()[0]) {
		c.pick(to, rows)
		if err := p.Run(); err != nil {
			return nil, err
		}
		all = append(all, graph.Floats(p.Value(values))[:len(rows)]...)
	}
	return all, nil
}

// column returns the column of a candidate. Beside it the columns of those with the most variance left may be computed.
func (c *columns) column(of int, left []float64) ([]float64, error) {
	if col := c.known[of]; col != nil {
		return col, nil
	}
	rows := slices.DeleteFunc(dense.Indices(len(left)), func(n int) bool { return n == of || c.known[n] != nil || !(left[n] > 0) })
	slices.SortStableFunc(rows, func(m, n int) int { return cmp.Compare(left[n], left[m]) })
	err := c.compute(append([]int{of}, rows[:min(len(rows), columnsAtOnce-1)]...))
	return c.known[of], err
}

// compute computes the columns of some candidates.
func (c *columns) compute(rows []int) error {
	n, size := c.x.Shape()[0], c.part.Shape()[0]
	for _, row := range rows {
		c.known[row] = make([]float64, n)
	}
	c.pick(c.block, rows)
	for first := 0; first < n; first += size {
		c.load(first)
		if err := c.program.Run(); err != nil {
			return err
		}
		v := graph.Floats(c.program.Value(c.values))
		for i, row := range rows {
			copy(c.known[row][first:], v[i*size:(i+1)*size])
		}
	}
	return nil
}

// load lets the program read the part of the candidates from number first on. The last candidate fills it up.
func (c *columns) load(first int) {
	if c.first == first {
		return
	}
	n, size := c.x.Shape()[0], c.part.Shape()[0]
	dense.Put(c.part, 0, c.x, first, min(size, n-first))
	for i := n - first; i < size; i++ {
		dense.Put(c.part, i, c.x, n-1, 1)
	}
	c.program.Refresh()
	c.first = first
}
