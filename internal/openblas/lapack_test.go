//go:build (linux || darwin || windows) && (amd64 || arm64) && !noopenblas

package openblas

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/go-valla/valla/internal/eigen"
	"github.com/go-valla/valla/internal/kernel"
)

// lapack is what the benchmark calls of a library that holds LAPACK too.
type lapack struct{ syevd, potrf, threads uintptr }

// findLAPACK skips the benchmark where no such library is installed.
func findLAPACK(b *testing.B) lapack {
	lib, err := find("")
	if err != nil {
		b.Skip("no OpenBLAS on this machine: ", err)
	}
	for _, a := range affixes {
		look := func(name, suffix string) uintptr {
			address, _ := symbol(lib.handle, a[0]+name+suffix+a[1])
			return address
		}
		l := lapack{look("dsyevd", "_"), look("dpotrf", "_"), look("openblas_set_num_threads", "")}
		if l.syevd != 0 && l.potrf != 0 && l.threads != 0 {
			return l
		}
	}
	b.Skip(lib.name, " has no LAPACK")
	return lapack{}
}

type ptr = unsafe.Pointer

// cholesky is LAPACK's dpotrf.
func (l lapack) cholesky(n int64, a []float64) (info int64) {
	purego.SyscallN(l.potrf, uintptr(ptr(new('U'))), uintptr(ptr(&n)), uintptr(ptr(&a[0])), uintptr(ptr(&n)),
		uintptr(ptr(&info)), 1)
	return int64(int32(info))
}

// symmetric is LAPACK's dsyevd, which overwrites a by the eigenvectors.
func (l lapack) symmetric(n int64, a []float64) (info int64) {
	values, query, short := make([]float64, n), 0.0, int64(0)
	work, whole, size, sizeWhole := &query, &short, int64(-1), int64(-1)
	for range 2 { // the first call asks for the sizes of the work space
		purego.SyscallN(l.syevd, uintptr(ptr(new('V'))), uintptr(ptr(new('L'))), uintptr(ptr(&n)), uintptr(ptr(&a[0])),
			uintptr(ptr(&n)), uintptr(ptr(&values[0])), uintptr(ptr(work)), uintptr(ptr(&size)), uintptr(ptr(whole)),
			uintptr(ptr(&sizeWhole)), uintptr(ptr(&info)), 1, 1)
		size, sizeWhole = max(1, int64(query)), max(1, int64(int32(short)))
		work, whole = &make([]float64, size)[0], &make([]int64, sizeWhole)[0]
	}
	return int64(int32(info))
}

// BenchmarkLAPACK compares the factorisations of this project with LAPACK's, on as many
// threads as GOMAXPROCS says.
func BenchmarkLAPACK(b *testing.B) {
	l := findLAPACK(b)
	purego.SyscallN(l.threads, uintptr(kernel.Threads()))
	for _, n := range []int{100, 500, 2000, 5000} {
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		x, gram, a := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		kernel.Syrk(false, n, n, 1, x, n, 0, gram, n)
		for _, c := range []struct {
			name string
			run  func() bool
		}{
			{"cholesky/here", func() bool { return kernel.Cholesky(n, a, n) < 0 }},
			{"cholesky/lapack", func() bool { return l.cholesky(int64(n), a) == 0 }},
			{"symmetric/here", func() bool { _, _, err := eigen.Symmetric(n, a); return err == nil }},
			{"symmetric/lapack", func() bool { return l.symmetric(int64(n), a) == 0 }},
		} {
			b.Run(fmt.Sprintf("%d/%s", n, c.name), func(b *testing.B) {
				for b.Loop() {
					copy(a, gram)
					if !c.run() {
						b.Fatal("it failed")
					}
				}
			})
		}
	}
}
