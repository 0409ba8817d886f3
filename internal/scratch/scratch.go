// Package scratch has memory for what a computation needs on the way to its result. One that is
// repeated thousands of times would otherwise leave much of its work to the garbage collector.
package scratch

import "sync"

// Memory hands out slices that are free again all at once. A nil *Memory is one that forgets: its
// slices are new ones.
type Memory struct {
	all  []float64 // memory that is handed out from its start on
	used int       // numbers handed out, of which some may lie outside all
}

// Take returns n numbers of any value.
func (m *Memory) Take(n int) []float64 {
	if m == nil {
		return make([]float64, n)
	}
	from := m.used
	m.used += n
	if m.used > len(m.all) {
		return make([]float64, n)
	}
	return m.all[from:m.used:m.used]
}

// Zeros returns n zeros.
func (m *Memory) Zeros(n int) []float64 {
	v := m.Take(n)
	clear(v)
	return v
}

// Free makes everything that was handed out free, with room for as much again.
func (m *Memory) Free() {
	if m == nil {
		return
	}
	if m.used > len(m.all) {
		m.all = make([]float64, m.used)
	}
	m.used = 0
}

// kept is the most numbers that a Memory keeps for another one who gets it.
const kept = 1 << 20

var memories = sync.Pool{New: func() any { return new(Memory) }}

// Get returns a Memory, which Put takes back.
func Get() *Memory { return memories.Get().(*Memory) }

// Put frees m for the next one who gets it, unless it is large.
func Put(m *Memory) {
	if max(m.used, len(m.all)) <= kept {
		m.Free()
		memories.Put(m)
	}
}
