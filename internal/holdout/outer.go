package holdout

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// Outer divides a set by its standardised inputs [N,D]: the outer rows are the share of the rows that lies farthest from the
// middle along the first principal component. On them a network that was trained on the inner rows extrapolates. Both
// parts keep the order of their rows.
func Outer(set *data.Set, share float64) (inner, outer *data.Set, err error) {
	n := set.N()
	away, err := component(graph.Floats(set.X), n)
	if err != nil {
		return nil, nil, err
	}
	order := dense.Indices(n)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(math.Abs(away[a]), math.Abs(away[b])) })
	k := n - int(math.Round(share*float64(n)))
	if k <= 0 || k >= n {
		return nil, nil, fmt.Errorf("a share of %g of %d rows leaves no outer or no inner rows", share, n)
	}
	slices.Sort(order[:k])
	slices.Sort(order[k:])
	return set.Rows(order[:k]), set.Rows(order[k:]), nil
}

// powerSteps is the number of steps of the power method: a second component with 0.95 of the variance of the first is then
// a millionth of the result.
const powerSteps = 300

// component returns the first principal component [n] of the standardised columns of rows x [n,d].
func component(x []float64, n int) ([]float64, error) {
	d := len(x) / n
	z := standardised(x, d)
	v, scores := make([]float64, d), make([]float64, n)
	start := 0 // the row farthest out has a part of every component that counts
	for i := range n {
		if a, b := z[i*d:(i+1)*d], z[start*d:(start+1)*d]; kernel.Dot(a, a) > kernel.Dot(b, b) {
			start = i
		}
	}
	copy(v, z[start*d:(start+1)*d])
	if kernel.Dot(v, v) == 0 {
		return nil, fmt.Errorf("all rows have the same inputs: there are no outer rows")
	}
	for range powerSteps {
		kernel.Scale(v, 1/math.Sqrt(kernel.Dot(v, v)), v)
		for i := range n {
			scores[i] = kernel.Dot(z[i*d:(i+1)*d], v)
		}
		clear(v)
		for i, s := range scores {
			for j, a := range z[i*d : (i+1)*d] {
				v[j] += s * a
			}
		}
	}
	return scores, nil
}

// standardised returns columns of rows x [·,d] less their means and divided by their standard deviations. Columns of one
// value become 0.
func standardised(x []float64, d int) []float64 {
	z, column := slices.Clone(x), make([]float64, len(x)/d)
	for j := range d {
		for i := range column {
			column[i] = x[i*d+j]
		}
		mean := kernel.Mean(column)
		for i := range column {
			column[i] -= mean
		}
		std := math.Sqrt(kernel.Dot(column, column) / float64(len(column)))
		for i, v := range column {
			if z[i*d+j] = 0; std > 1e-12*math.Abs(mean) {
				z[i*d+j] = v / std
			}
		}
	}
	return z
}
