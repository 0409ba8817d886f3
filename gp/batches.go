package gp

import (
	"context"
	"runtime"

	"gorgonia.org/tensor"
)

const (
	// maxCovariances bounds the covariances [N,C,C] that InBatches holds at a time, in bytes.
	maxCovariances = 256 << 20
	// maxRows bounds the inputs of a part for each processor in use, so that the caller soon hears
	// of the next.
	maxRows = 500
)

// InBatches calls f with the prediction at each of the inputs x [N,…], which are float32 or
// float64, in parts of at most 500 inputs for each processor in use, or fewer where the covariances
// of the given number of outputs need much memory. first is the number of the first input of a
// part. A prediction that is to be kept has to be copied.
func InBatches(ctx context.Context, p Posterior, x *tensor.Dense, outputs int, f func(first int, g Gaussian) error) error {
	n := x.Shape()[0]
	rows := max(1, min(maxRows*runtime.GOMAXPROCS(0), maxCovariances/8/(outputs*outputs)))
	for first := 0; first < n; first += rows {
		part := x
		if rows < n {
			part = rowsOf(x, first, min(first+rows, n))
		}
		g, err := p.Predict(ctx, part)
		if err == nil {
			err = f(first, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsOf returns the rows from … to−1 of x, in its memory.
func rowsOf(x *tensor.Dense, from, to int) *tensor.Dense {
	shape := x.Shape().Clone()
	width := shape.TotalSize() / shape[0]
	shape[0] = to - from
	var backing any
	if x.Dtype() == tensor.Float32 {
		backing = x.Float32s()[from*width : to*width]
	} else {
		backing = x.Float64s()[from*width : to*width]
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
}
