package valla

import (
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// gramOf returns the prior kernel [N,N] among output class[n] of the inputs x [N,…], in parts that need at most memory
// bytes each, or as a whole if memory is 0.
func gramOf(k gp.Kernel, x *tensor.Dense, class []int, memory int64) ([]float64, error) {
	n := x.Shape()[0]
	size, err := gramSize(k, x, class, memory)
	if err != nil {
		return nil, err
	}
	if size == n {
		return gramAmong(k, x, class)
	}
	all := make([]float64, n*n)
	for from := 0; from < n; from += size {
		for second := from + size; second < n; second += size {
			rows := append(dense.Indices(min(from+size, n))[from:], dense.Indices(min(second+size, n))[second:]...)
			part, err := gramAmong(k, data.TakeRows(x, rows), pick(class, rows))
			if err != nil {
				return nil, err
			}
			for i, r := range rows {
				for j, c := range rows {
					all[r*n+c] = part[i*len(rows)+j]
				}
			}
		}
	}
	return all, nil
}

// gramSize returns how many of the inputs make a part: the kernel among two parts is computed at a time.
func gramSize(k gp.Kernel, x *tensor.Dense, class []int, memory int64) (int, error) {
	n := x.Shape()[0]
	for size := n; ; size = (size + 1) / 2 {
		rows := min(n, 2*size)
		if size == n {
			rows = n
		}
		b, node := gramGraph(k, data.TakeRows(x, dense.Indices(rows)), class[:rows])
		if b.Err() != nil {
			return 0, b.Err()
		}
		need, err := graph.CostOf(b, []*graph.Node{node}, graph.Options{})
		if err != nil || memory == 0 || need.Bytes <= memory || size == 1 {
			return size, err
		}
	}
}

func gramGraph(k gp.Kernel, x *tensor.Dense, class []int) (*graph.Builder, *graph.Node) {
	b := graph.NewBuilder(x.Dtype())
	return b, k.Gram(b, b.Param(&graph.Param{Name: "candidates", Value: x}), class)
}

func gramAmong(k gp.Kernel, x *tensor.Dense, class []int) ([]float64, error) {
	b, node := gramGraph(k, x, class)
	values, err := graph.Evaluate(b, node)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}
