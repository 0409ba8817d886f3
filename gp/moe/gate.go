package moe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

const (
	gateBatch = 100 // inputs that get their scores at a time
	starts    = 10  // of k-means
	scores    = 2
)

// gate says which expert answers at an input: by edges of cells where there is a single input,
// and otherwise by the nearest centre in the scores.
type gate struct {
	edges []float64 // [E−1], ascending; nil with scores

	points  *tensor.Dense // [m,…]
	means   []float64     // of the kernel's columns among the points [m]
	turn    []float64     // V/√μ [m,2]
	centres []float64     // [E,2]

	run *graph.Batched // the kernel with the points, during the fit; nil after it
}

// newCells returns a gate for x [N,1] with cells between the quantiles k/E of the rows. Cells
// without rows are joined to their neighbours.
func newCells(x []float64, experts int) *gate {
	sorted := slices.Sorted(slices.Values(x))
	g := &gate{edges: []float64{}}
	for k := 1; k < experts; k++ {
		at := float64(k) / float64(experts) * float64(len(sorted)-1)
		i := int(at)
		edge := sorted[i] + (at-float64(i))*(sorted[min(i+1, len(sorted)-1)]-sorted[i])
		last := math.Inf(-1)
		if n := len(g.edges); n > 0 {
			last = g.edges[n-1]
		}
		if between(sorted, last, edge) && between(sorted, edge, math.Inf(1)) {
			g.edges = append(g.edges, edge)
		}
	}
	return g
}

// between reports whether a number v of sorted has lo ≤ v < hi.
func between(sorted []float64, lo, hi float64) bool {
	i := sort.SearchFloat64s(sorted, lo)
	return i < len(sorted) && sorted[i] < hi
}

// newGate returns a gate by the scores of points [m,…] and their clusters.
func newGate(ctx context.Context, net layers.Network, points *tensor.Dense, experts int, limit int64, rng *rand.Rand) (*gate, error) {
	g := &gate{points: points}
	if err := g.compile(net, limit); err != nil {
		return nil, err
	}
	m := points.Shape()[0]
	k, err := g.kernel(ctx, points)
	if err != nil {
		return nil, err
	}
	if err := g.components(k, m); err != nil {
		return nil, err
	}
	at := g.scoresOf(k)
	g.centres, err = clusters(at, min(experts, distinct(at)), rng)
	return g, err
}

// compile compiles the kernel Σ_c J_c(x) J_c(z)ᵀ [B,m] between inputs and the points.
func (g *gate) compile(net layers.Network, limit int64) (err error) {
	g.run, err = graph.NewBatchedWithin("moe: the kernel with the points", gateBatch, limit, func(size int) (graph.Pass, error) {
		return g.write(net, size)
	})
	return err
}

// write writes the kernel for size inputs.
func (g *gate) write(net layers.Network, size int) (graph.Pass, error) {
	b := graph.NewBuilder(g.points.Dtype())
	x := b.Input("x", append([]int{size}, g.points.Shape()[1:]...)...)
	return graph.Pass{Builder: b, X: x, Outputs: []*graph.Node{g.writeAt(b, net, x)}}, b.Err()
}

// writeAt writes the kernel for inputs x [B,…].
func (g *gate) writeAt(b *graph.Builder, net layers.Network, x *graph.Node) *graph.Node {
	m, class := g.points.Shape()[0], make([]int, g.points.Shape()[0])
	z := b.Param(&graph.Param{Name: "points", Value: g.points})
	out := net.Forward(b, x)
	if b.Err() != nil {
		return nil
	}
	sum := b.Fill(0, x.Shape()[0], 1, m)
	for c := range out.Shape()[1] {
		sum = b.Add(sum, jacobian.NTK{Net: only{net, c}}.Cross(b, x, z, class))
	}
	return b.Reshape(sum, x.Shape()[0], m)
}

// only is a network's output number c alone, [B,1].
type only struct {
	layers.Network     // with all outputs
	c              int // number of the output
}

// Forward implements layers.Network.
func (o only) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Slice(o.Network.Forward(b, x), 1, o.c, o.c+1)
}

// each calls visit with the kernel of some of the inputs x [N,…], from number first on, with the points, [n,m].
func (g *gate) each(ctx context.Context, x *tensor.Dense, visit func(first int, k []float64)) error {
	m := g.points.Shape()[0]
	return g.run.Each(ctx, x, func(first, n int, out []*tensor.Dense) error {
		k := graph.Floats(out[0])[:n*m]
		if err := finite(k, first, m); err != nil {
			return err
		}
		visit(first, k)
		return nil
	})
}

// kernel returns the kernel of inputs x [N,…] with the points, [N,m].
func (g *gate) kernel(ctx context.Context, x *tensor.Dense) (all []float64, err error) {
	err = g.each(ctx, x, func(_ int, k []float64) { all = append(all, k...) })
	return all, err
}

// finite checks rows of a kernel with m points, from the row of input number first on.
func finite(k []float64, first, m int) error {
	if i, v := kernel.FirstNonFinite(k); i >= 0 {
		return fmt.Errorf("moe: the tangent kernel of input %d with a point is %g", first+i/m, v)
	}
	return nil
}

// components finds the leading components of the kernel k [m,m] of the points. A component that
// is 0 up to rounding has no scores.
func (g *gate) components(k []float64, m int) error {
	g.means = make([]float64, m)
	for i := range m {
		kernel.Axpy(1/float64(m), k[i*m:(i+1)*m], g.means)
	}
	centred := slices.Clone(k)
	g.centre(centred)
	kernel.CopyLower(m, centred, m) // the triangles differ by rounding
	n := min(scores, m)
	values, vectors, err := eigen.Largest(m, n, centred)
	if err != nil {
		return fmt.Errorf("moe: eigenvalues of the kernel of %d points: %w", m, err)
	}
	g.turn = make([]float64, m*scores)
	for j := range n {
		v := values[n-1-j]
		if !(v > dense.Epsilon(g.points.Dtype())*float64(m)*values[n-1]) {
			continue
		}
		for i := range m {
			g.turn[i*scores+j] = vectors[i*n+n-1-j] / math.Sqrt(v)
		}
	}
	return nil
}

// centre takes away means from rows of the kernel with the points [n,m], so that they are inner
// products of features that have the mean 0 over the points.
func (g *gate) centre(k []float64) {
	all := kernel.Sum(g.means) / float64(len(g.means))
	for row := range slices.Chunk(k, len(g.means)) {
		own := kernel.Sum(row) / float64(len(row))
		kernel.Sub(row, row, g.means)
		kernel.AddScalar(row, all-own, row)
	}
}

// scoresOf returns the scores [n,2] for rows of the kernel with the points [n,m], which it
// overwrites.
func (g *gate) scoresOf(k []float64) []float64 {
	out := make([]float64, len(k)/len(g.means)*scores)
	g.scoresInto(out, k)
	return out
}

func (g *gate) scoresInto(out, k []float64) {
	g.centre(k)
	m := len(g.means)
	kernel.Gemm(false, false, len(k)/m, scores, m, 1, k, m, g.turn, scores, 0, out, scores)
}

// clusters returns the best centres [E,2] of several starts of k-means.
func clusters(at []float64, experts int, rng *rand.Rand) ([]float64, error) {
	x, best, least := dense.Of(at, len(at)/scores, scores), []float64(nil), math.Inf(1)
	for range starts {
		c, err := data.KMeans(x, experts, data.KMeansPlusPlus, rng)
		if err != nil {
			return nil, fmt.Errorf("moe: clusters of the scores: %w", err)
		}
		sum := 0.0
		for p := range slices.Chunk(at, scores) {
			_, d := nearest(c.Float64s(), p)
			sum += d
		}
		if sum < least {
			best, least = c.Float64s(), sum
		}
	}
	return best, nil
}

// distinct counts the different points [n,2].
func distinct(at []float64) int {
	seen := map[[scores]float64]bool{}
	for p := range slices.Chunk(at, scores) {
		seen[[scores]float64(p)] = true
	}
	return len(seen)
}

// nearest returns the centre nearest to a point, the first where there are several, and the
// squared distance.
func nearest(centres, p []float64) (at int, square float64) {
	square = math.Inf(1)
	for i := 0; i < len(centres); i += scores {
		dx, dy := centres[i]-p[0], centres[i+1]-p[1]
		if d := dx*dx + dy*dy; d < square {
			at, square = i/scores, d
		}
	}
	return at, square
}

// experts is E.
func (g *gate) experts() int {
	if g.edges != nil {
		return len(g.edges) + 1
	}
	return len(g.centres) / scores
}

// neighbours lists the neighbours of each expert.
func (g *gate) neighbours() [][]int {
	if g.edges != nil {
		return inRow(g.experts())
	}
	return neighbours(g.centres)
}

// cell returns the expert of a single input.
func (g *gate) cell(v float64) int {
	return sort.Search(len(g.edges), func(k int) bool { return g.edges[k] > v })
}

// labels returns the expert of each of the inputs x [N,…].
func (g *gate) labels(ctx context.Context, x *tensor.Dense) ([]int, error) {
	out := make([]int, x.Shape()[0])
	if g.edges != nil {
		for i, v := range graph.Floats(x) {
			out[i] = g.cell(v)
		}
		return out, nil
	}
	err := g.each(ctx, x, func(first int, k []float64) {
		at := g.scoresOf(k)
		g.nearestInto(out[first:first+len(at)/scores], at)
	})
	return out, err
}

// nearestInto sets the labels [n] to the centres nearest to the scores at [n,2].
func (g *gate) nearestInto(labels []int, at []float64) {
	for i := range labels {
		labels[i], _ = nearest(g.centres, at[i*scores:(i+1)*scores])
	}
}
