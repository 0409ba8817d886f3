package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// Rows gather the rows of a table.
type rows interface {
	add(row []float64) error // features and then target
	shuffle(rng *rand.Rand)
	tensors() (x, y *tensor.Dense) // [N,D] and [N,1]
}

// newRows returns rows of d features with room for n rows.
func newRows(dtype tensor.Dtype, d, n int) (rows, error) {
	switch dtype {
	case tensor.Dtype{}, tensor.Float64:
		return &rowsOf[float64]{d: d, x: make([]float64, 0, n*d), y: make([]float64, 0, n)}, nil
	case tensor.Float32:
		return &rowsOf[float32]{d: d, x: make([]float32, 0, n*d), y: make([]float32, 0, n)}, nil
	}
	return nil, fmt.Errorf("tabular: type %v, expected float32 or float64", dtype)
}

type rowsOf[T float32 | float64] struct {
	d    int // number of features
	x, y []T // N*d and N
}

func (r *rowsOf[T]) add(row []float64) error {
	for i, v := range row {
		if math.IsInf(float64(T(v)), 0) {
			return fmt.Errorf("value %d of the row: expected one that float32 can hold, found %g", i+1, v)
		}
	}
	for _, v := range row[:r.d] {
		r.x = append(r.x, T(v))
	}
	r.y = append(r.y, T(row[r.d]))
	return nil
}

// shuffle permutes the rows in place.
func (r *rowsOf[T]) shuffle(rng *rand.Rand) {
	rng.Shuffle(len(r.y), func(i, j int) {
		a, b := r.x[i*r.d:(i+1)*r.d], r.x[j*r.d:(j+1)*r.d]
		for k := range a {
			a[k], b[k] = b[k], a[k]
		}
		r.y[i], r.y[j] = r.y[j], r.y[i]
	})
}

func (r *rowsOf[T]) tensors() (x, y *tensor.Dense) {
	n := len(r.y)
	return tensor.New(tensor.WithShape(n, r.d), tensor.WithBacking(r.x)),
		tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(r.y))
}
