//go:build (linux || darwin || windows) && (amd64 || arm64) && !noopenblas

package openblas

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
)

// affixes are the prefixes and suffixes that builds of OpenBLAS add to the names of
// functions. Most builds add none. The builds inside NumPy and SciPy add some.
var affixes = [][2]string{{"", ""}, {"", "64_"}, {"scipy_", ""}, {"scipy_", "64_"}}

// load implements Load.
func load(path string) error {
	lib, err := find(path)
	if err != nil {
		return err
	}
	f, err := bind(lib)
	if err != nil {
		return err
	}
	f.setThreads(1)
	kernel.SetProduct(product[float32](f.sgemm))
	kernel.SetProduct(product[float64](f.dgemm))
	kernel.Use()
	gorgonia.Use(kernel.BLAS{})
	return nil
}

// library is a loaded shared library.
type library struct {
	name   string  // file name or path
	handle uintptr // the system's handle
}

// find loads the library at path. If path is empty, it loads the first library among the usual names.
func find(path string) (library, error) {
	names := usual
	if path != "" {
		names = []string{path}
	}
	var first error
	for _, name := range names {
		handle, err := open(name)
		if err == nil {
			return library{name, handle}, nil
		}
		if first == nil {
			first = err
		}
	}
	return library{}, fmt.Errorf("%w: %w", ErrNotFound, first)
}

// functions are the addresses of the library's functions that this package calls.
type functions struct {
	sgemm, dgemm uintptr // products in float32 and in float64
	threads      uintptr // openblas_set_num_threads
}

// bind looks up the functions, all with the affixes of the same build.
func bind(lib library) (functions, error) {
	var first error
	for _, a := range affixes {
		var f functions
		var err error
		look := func(name, suffix string) uintptr {
			address, e := symbol(lib.handle, a[0]+name+suffix+a[1])
			if e != nil && err == nil {
				err = fmt.Errorf("%s is no OpenBLAS: %w", lib.name, e)
			}
			return address
		}
		f = functions{look("sgemm", "_"), look("dgemm", "_"), look("openblas_set_num_threads", "")}
		if err == nil {
			return f, nil
		}
		if first == nil {
			first = err
		}
	}
	return functions{}, first
}

func (f functions) setThreads(n int) { purego.SyscallN(f.threads, uintptr(n)) }

// arguments are the arguments of Fortran's sgemm and dgemm, which take only pointers. A library reads
// integers of 32 or of 64 bits, depending on its build. It reads the same number in both
// cases, because all supported machines are little-endian and the numbers fit 32 bits.
type arguments[T kernel.Float] struct {
	transA, transB         byte  // 'T' or 'N' for each operand
	m, n, k, lda, ldb, ldc int64 // sizes and leading dimensions, column by column
	alpha, beta            T     // factors of the product and of C
}

// product returns the function sgemm or dgemm at an address as a kernel.Product. Fortran
// stores matrices column by column, and so the function computes Cᵀ = op(B)ᵀ·op(A)ᵀ.
func product[T kernel.Float](gemm uintptr) kernel.Product[T] {
	pool := sync.Pool{New: func() any { return new(arguments[T]) }}
	return func(transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, add bool, c []T, ldc int) bool {
		if max(m, n, k, lda, ldb, ldc) > math.MaxInt32 {
			return false
		}
		x := pool.Get().(*arguments[T])
		*x = arguments[T]{letter(transB), letter(transA), int64(n), int64(m), int64(k), int64(ldb), int64(lda), int64(ldc), alpha, 0}
		if add {
			x.beta = 1
		}
		// The last two arguments are the lengths of the two strings, which Fortran passes hidden.
		purego.SyscallN(gemm, uintptr(unsafe.Pointer(&x.transA)), uintptr(unsafe.Pointer(&x.transB)),
			uintptr(unsafe.Pointer(&x.m)), uintptr(unsafe.Pointer(&x.n)), uintptr(unsafe.Pointer(&x.k)),
			uintptr(unsafe.Pointer(&x.alpha)), uintptr(unsafe.Pointer(&b[0])), uintptr(unsafe.Pointer(&x.lda)),
			uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&x.ldb)),
			uintptr(unsafe.Pointer(&x.beta)), uintptr(unsafe.Pointer(&c[0])), uintptr(unsafe.Pointer(&x.ldc)), 1, 1)
		pool.Put(x)
		return true
	}
}

// letter returns the letter by which Fortran knows whether a matrix is transposed.
func letter(trans bool) byte {
	if trans {
		return 'T'
	}
	return 'N'
}
