package kernel

import (
	"sync"
	"sync/atomic"
)

// workspace is the memory that one thread needs for one product.
type workspace[T Float] struct {
	used atomic.Bool // whether a thread has the workspace
	a, b []T         // packed panels
	x    []T         // right-hand sides, transposed

	v, d, m []T // components of an image, of derivatives and of their products

	// A job for several threads is kept here and not on the stack, so that it needs no
	// allocation.
	gemm        gemm[T]
	long        longSum[T]     // job of Gemm with many steps
	solver      solver[T]      // job of Trsm
	symmetric   symmetric[T]   // job of Syrk
	correlation correlation[T] // job of ConvForward and ConvInput
	packing     packing[T]     // job of a correlation whose filters are packed
	filterSums  filterSums[T]  // job of ConvFilter
	tiled       tiled[T]       // job of ConvForward and ConvInput tile by tile

	unfolded unfolded // the part of an image that a holds
	regions  []region // regions of unfolded
}

// freeList keeps all workspaces, as many as there were products at one time. If possible, a thread gets
// the workspace that its processor has used last, because it is in the processor's cache.
type freeList[T Float] struct {
	near sync.Pool       // of workspaces in all, some of which may be in use again
	mu   sync.Mutex      // guards all
	all  []*workspace[T] // every workspace, in use or not
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
	if w, ok := l.near.Get().(*workspace[T]); ok && w.used.CompareAndSwap(false, true) {
		return w
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.all {
		if w.used.CompareAndSwap(false, true) {
			return w
		}
	}
	w := &workspace[T]{}
	w.used.Store(true)
	l.all = append(l.all, w)
	return w
}

func (l *freeList[T]) put(w *workspace[T]) {
	// Do not keep the caller's matrices alive.
	w.gemm, w.solver, w.symmetric = gemm[T]{}, solver[T]{}, symmetric[T]{}
	w.long = longSum[T]{sums: w.long.sums}
	w.correlation = correlation[T]{passes: w.correlation.passes[:0], steps: w.correlation.steps[:0]}
	w.packing = packing[T]{panels: w.packing.panels}
	w.filterSums = filterSums[T]{steps: w.filterSums.steps[:0], lines: w.filterSums.lines[:0], bands: w.filterSums.bands[:0], sums: w.filterSums.sums}
	w.tiled = tiled[T]{bands: w.tiled.bands[:0], filters: tileFilters[T]{u: w.tiled.filters.u}}
	w.used.Store(false)
	l.near.Put(w)
}

// grow returns s with the length n, in new memory if s is too small; the contents may then
// be lost.
func grow[T Float](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
