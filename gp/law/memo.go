package law

import "sync"

// mostMemo is the largest number of quantiles that a law remembers.
const mostMemo = 64

// memo remembers quantiles, which take longer to compute than the prediction of a small network.
type memo struct {
	mu sync.RWMutex
	z  map[float64]float64 // quantiles by their probabilities
}

// Remembering returns the law with a memory for its last quantiles: predictions ask for a few probabilities, again and
// again. Copies of the result share the memory.
func (l Law) Remembering() Law {
	l.memo = &memo{z: map[float64]float64{}}
	return l
}

// get returns the quantile of p, which compute computes.
func (m *memo) get(p float64, compute func(float64) float64) float64 {
	m.mu.RLock()
	z, ok := m.z[p]
	m.mu.RUnlock()
	if ok {
		return z
	}
	z = compute(p)
	m.mu.Lock()
	if len(m.z) < mostMemo {
		m.z[p] = z
	}
	m.mu.Unlock()
	return z
}
