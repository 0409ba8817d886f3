// Package kernel holds the numeric loops that all other packages call: matrix products,
// triangular solves, Cholesky factors, convolutions and functions of vectors. A loop for both
// float32 and float64 has one generic source.
//
// Matrices are row-major slices with a leading dimension. The leading dimension is the number of
// elements from one row to the next and at least the number of columns. A slice that is too short
// for the stated shape is a programming error, and the function panics.
//
// On amd64 with AVX2 and FMA, or with AVX-512, and on arm64 with NEON, the inner loops are
// assembly, chosen at run time. Elsewhere, and under the build tag noasm, they are plain Go.
// GODEBUG=cpu.avx512f=off in the environment switches AVX-512 off. The loops for NEON are tested in
// an emulator; their speed has not been measured.
//
// Results do not depend on the number of threads, but their last digits differ between
// processors. A row of a matrix product, a system of a triangular solve and an image of a convolution
// have the same bits alone and in any batch. This does not hold for the products of a library that
// SetProduct has set. Products, convolutions and steps of Adam may treat subnormal numbers as zero. No
// function but InverseLower and MeanDifference allocates once its buffers exist.
package kernel

// Float is the constraint of every generic function of this project.
type Float interface{ float32 | float64 }
