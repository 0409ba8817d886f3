// Package openblas lets a shared OpenBLAS library that the user has multiply the
// matrices. The library is loaded at run time, without cgo.
//
// Its own threads are switched off: kernel.Gemm cuts a product into parts for the
// workers of this program, each of which calls the library. How the last digits of a
// product come out may depend on how it was cut.
//
// Linking the loader in makes a program depend on the system's C library even where it is
// built with CGO_ENABLED=0. The build tag noopenblas leaves it out; Load then fails.
package openblas

import "errors"

// ErrNotFound is wrapped where there is no library to load.
var ErrNotFound = errors.New("no OpenBLAS found")

// Load makes the library at path, or if path is empty the first one that is found where
// this system keeps libraries, the one that multiplies matrices: in kernel.Gemm and what
// stands on it, and behind the BLAS switches of gonum and Gorgonia. Call it before any
// of these run. On an error nothing has changed; there is no way back.
func Load(path string) error { return load(path) }
