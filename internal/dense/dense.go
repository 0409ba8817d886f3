// Package dense has the conversions between tensors and slices that many packages need.
package dense

import (
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// Of returns a float64 tensor of a shape with the elements v, which it shares.
func Of(v []float64, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// Bytes returns the memory of the elements of t.
func Bytes(t *tensor.Dense) int64 {
	return int64(t.Shape().TotalSize()) * int64(t.Dtype().Size())
}

// Cycle returns n numbers 0…c−1 in a cycle: the outputs of points that carry c outputs each, or one in turn.
func Cycle(n, c int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i % c
	}
	return out
}

// Packed returns the number of elements of the lower triangle of a matrix [n,n].
func Packed(n int) int { return n * (n + 1) / 2 }

// PackLower returns the lower triangle of a [n,n], row by row.
func PackLower(n int, a []float64) []float64 {
	packed := make([]float64, 0, Packed(n))
	for i := range n {
		packed = append(packed, a[i*n:i*n+i+1]...)
	}
	return packed
}

// UnpackLower returns the matrix [n,n] whose lower triangle is packed row by row, with zeros above it.
func UnpackLower(n int, packed []float64) []float64 {
	a := make([]float64, n*n)
	for i := range n {
		packed = packed[copy(a[i*n:i*n+i+1], packed):]
	}
	return a
}

// Copy fills dst with the elements of t, float32 or float64, from element number from on.
func Copy(dst []float64, t *tensor.Dense, from int) {
	if t.Dtype() == tensor.Float64 {
		copy(dst, t.Float64s()[from:from+len(dst)])
		return
	}
	for i, v := range t.Float32s()[from : from+len(dst)] {
		dst[i] = float64(v)
	}
}

// AppendRows appends the first n rows of t, float32 or float64, to dst.
func AppendRows(dst []float64, t *tensor.Dense, n int) []float64 {
	count := n * (t.Shape().TotalSize() / t.Shape()[0])
	at := len(dst)
	dst = append(dst, make([]float64, count)...)
	Copy(dst[at:], t, 0)
	return dst
}

// Rows returns the rows from … to−1 of t, float32 or float64, in the memory of t.
func Rows(t *tensor.Dense, from, to int) *tensor.Dense {
	shape := t.Shape().Clone()
	width := shape.TotalSize() / shape[0]
	shape[0] = to - from
	var backing any
	if t.Dtype() == tensor.Float32 {
		backing = t.Float32s()[from*width : to*width]
	} else {
		backing = t.Float64s()[from*width : to*width]
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(backing))
}

// Put copies the n rows of src from row first on to dst, from row at on. Both have one element
// type, float32 or float64, and rows of one size.
func Put(dst *tensor.Dense, at int, src *tensor.Dense, first, n int) {
	width := src.Shape().TotalSize() / src.Shape()[0]
	if dst.Dtype() == tensor.Float32 {
		copy(dst.Float32s()[at*width:], src.Float32s()[first*width:(first+n)*width])
		return
	}
	copy(dst.Float64s()[at*width:], src.Float64s()[first*width:(first+n)*width])
}

// Resized returns v with n elements of any values, in the memory of v where v has room.
func Resized(v []float64, n int) []float64 { return slices.Grow(v[:0], n)[:n] }

// Indices returns 0, 1, …, n−1.
func Indices(n int) []int { return UpTo(0, n) }

// UpTo returns n consecutive numbers, from from on.
func UpTo(from, n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = from + i
	}
	return at
}

// Spaced returns the indices of at most most rows, evenly spaced among n rows.
func Spaced(n, most int) []int {
	rows := make([]int, min(n, most))
	for i := range rows {
		rows[i] = i * n / len(rows)
	}
	return rows
}

// Ones returns 1 for true and 0 for false.
func Ones(v []bool) []float64 {
	out := make([]float64, len(v))
	for i, yes := range v {
		if yes {
			out[i] = 1
		}
	}
	return out
}

// Mix returns a hash of the hash h and the numbers v. Model files hold such hashes.
func Mix(h uint64, v []float64) uint64 {
	for _, x := range v {
		h = (h ^ math.Float64bits(x)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}

// Epsilon returns the distance from 1 to the next number of an element type, float32 or float64.
func Epsilon(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}
