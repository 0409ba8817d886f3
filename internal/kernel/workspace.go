package kernel

import "sync"

// workspace is the memory that one thread needs for one product.
type workspace[T Float] struct {
	a, b []T // packed panels
	x    []T // right-hand sides, transposed

	// A job for several threads is kept here and not on the stack, so that it needs no
	// allocation.
	gemm        gemm[T]
	solver      solver[T]
	symmetric   symmetric[T]
	correlation correlation[T]
	filterSums  filterSums[T]

	unfolded unfolded // what a holds
	regions  []region
}

// freeList keeps the workspaces that are not in use. It never shrinks: it holds as many as
// there were products at one time.
type freeList[T Float] struct {
	mu   sync.Mutex
	free []*workspace[T]
}

var (
	free32 freeList[float32]
	free64 freeList[float64]
)

func spaces[T Float]() *freeList[T] {
	if l, ok := any(&free32).(*freeList[T]); ok {
		return l
	}
	return any(&free64).(*freeList[T])
}

func (l *freeList[T]) get() *workspace[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return &workspace[T]{}
	}
	w := l.free[n-1]
	l.free = l.free[:n-1]
	return w
}

func (l *freeList[T]) put(w *workspace[T]) {
	// Do not keep the caller's matrices alive.
	w.gemm, w.solver, w.symmetric = gemm[T]{}, solver[T]{}, symmetric[T]{}
	w.correlation = correlation[T]{passes: w.correlation.passes[:0], steps: w.correlation.steps[:0]}
	w.filterSums = filterSums[T]{steps: w.filterSums.steps[:0], lines: w.filterSums.lines[:0], sums: w.filterSums.sums}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, w)
}

// grow returns s with the length n, in new memory if s is too small; the contents may then
// be lost.
func grow[T Float](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
