package law

import (
	"maps"
	"sync/atomic"
)

// mostMemo is the largest number of quantiles that a law remembers.
const mostMemo = 64

// memo remembers what takes longer to compute than the prediction of a small network: the variance, and quantiles.
type memo struct {
	variance float64                             // variance of Z
	z        atomic.Pointer[map[float64]float64] // quantiles by their probabilities; the map never changes
}

// Remembering returns the law with a memory for its variance and its first quantiles: predictions ask for a few
// probabilities, again and again. Copies of the result share the memory.
func (l Law) Remembering() Law {
	l.memo = nil
	m := &memo{variance: l.Variance()}
	m.z.Store(&map[float64]float64{})
	l.memo = m
	return l
}

// get returns the quantile of p, which compute computes.
func (m *memo) get(p float64, compute func(float64) float64) float64 {
	known := m.z.Load()
	if z, ok := (*known)[p]; ok {
		return z
	}
	z := compute(p)
	if len(*known) < mostMemo {
		more := maps.Clone(*known)
		more[p] = z
		m.z.CompareAndSwap(known, &more) // where another goroutine was faster, a later call remembers z
	}
	return z
}
