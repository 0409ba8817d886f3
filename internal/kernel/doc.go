// Package kernel holds the numeric loops everything else calls: matrix
// products, triangular solves, Cholesky, convolutions, and functions of vectors, each from
// one generic source for float32 and float64.
//
// Matrices are row-major slices with a leading dimension (elements from one
// row to the next, at least the number of columns). Slices that are too short
// for the stated shape are programming errors and panic.
//
// On amd64 with AVX2 and FMA (or AVX-512) the inner loops are assembly, chosen
// at run time; elsewhere, and under the build tag noasm, they are plain Go.
// Results do not depend on the number of threads. They differ in the last
// digits between processors, and in products, convolutions and steps of Adam subnormal
// numbers may count as zero. No function allocates once its buffers exist.
package kernel

// Float is the constraint of every generic function of this project.
type Float interface{ float32 | float64 }
