// Package openblas makes a shared OpenBLAS library, which the user has installed, compute
// matrix products. It loads the library at run time, without cgo.
//
// The library runs on one thread. kernel.Gemm cuts a product into parts for the workers
// of this program, and each worker calls the library. The last digits of a product may
// depend on the cut.
//
// A program that contains the loader depends on the system's C library, even if it is built
// with CGO_ENABLED=0. The build tag noopenblas leaves the loader out, and Load then fails.
package openblas

import "errors"

// ErrNotFound is wrapped by the error of Load where there is no library to load.
var ErrNotFound = errors.New("no OpenBLAS found")

// Load loads the library at path. If path is empty, it loads the first library that it finds
// where this system keeps libraries. From then on the library computes the matrix products of
// kernel.Gemm, of the functions that call kernel.Gemm, of gonum and of Gorgonia. Call Load
// before any of these run. After an error nothing has changed. Load cannot be undone.
func Load(path string) error { return load(path) }
