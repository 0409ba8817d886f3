// Package data reads tables from text, Parquet and NumPy files, turns their cells into numbers
// (see [Encoding]), divides their rows, standardises columns, forms mini-batches and finds centres
// by k-means. [Toy] is a small data set. Package data/sets knows public data sets by name.
//
// Values are float64 unless a comment says otherwise. A program that trains in float32
// converts them once. N is the
// number of rows (examples), D the number of features and K the number of columns.
//
// A file with a fault is refused as a whole, and the error is one line that names the
// place. Where numbers are expected, every value that is not finite is a fault.
package data

import (
	"fmt"
	"strconv"

	"gorgonia.org/tensor"
)

// checkMatrix returns an error unless t is a row-major [N,D] tensor of the type dtype and
// not a view. The argument what names t in the error.
func checkMatrix(what string, t *tensor.Dense, dtype tensor.Dtype) error {
	if t == nil {
		return fmt.Errorf("%s: expected a [N,D] %v tensor, found nil", what, dtype)
	}
	if t.Dims() != 2 || t.Size() == 0 || t.Dtype() != dtype {
		return fmt.Errorf("%s: expected a [N,D] %v tensor, found %v of shape %v", what, dtype, t.Dtype(), t.Shape())
	}
	if t.RequiresIterator() || t.DataOrder().IsColMajor() {
		return fmt.Errorf("%s: expected a row-major tensor, found a view or a transposed one", what)
	}
	return nil
}

// Float64s returns the elements of t as float64, without a copy where t is float64. t must be contiguous, of a type that
// NumPy files are read as, and have at least one dimension; another type panics.
func Float64s(t *tensor.Dense) []float64 {
	switch v := t.Data().(type) {
	case []float64:
		return v
	case []float32:
		return convert(v)
	case []int64:
		return convert(v)
	case []int32:
		return convert(v)
	case []int8:
		return convert(v)
	case []uint8:
		return convert(v)
	default:
		panic(fmt.Sprintf("data: tensor of %T from a NumPy file", v))
	}
}

func convert[T float32 | int64 | int32 | int8 | uint8](in []T) []float64 {
	out := make([]float64, len(in))
	for i, v := range in {
		out[i] = float64(v)
	}
	return out
}

// numbered returns the names of n columns of an array without names: x0, x1, ... for
// the prefix x.
func numbered(n int, prefix string) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}
