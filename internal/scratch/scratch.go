// Package scratch provides memory for the intermediate results of a computation. A computation that runs
// thousands of times would otherwise make much work for the garbage collector.
package scratch

import "sync"

// Memory hands out slices, which Free takes back all at once. A nil *Memory is valid, and all its
// slices are new.
type Memory struct {
	all  []float64 // memory that is handed out from its start on
	used int       // numbers handed out, of which some may lie outside all
}

// Take returns n numbers with any values.
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

// Free takes back all slices. Memory then has room for as many numbers as were handed out.
func (m *Memory) Free() {
	if m == nil {
		return
	}
	if m.used > len(m.all) {
		m.all = make([]float64, m.used)
	}
	m.used = 0
}

// kept is the largest number of numbers in a Memory that Put keeps.
const kept = 1 << 20

// memories are the free memories.
var memories = sync.Pool{New: func() any { return new(Memory) }}

// Get returns a Memory, which Put takes back.
func Get() *Memory { return memories.Get().(*Memory) }

// Put frees m and keeps it for a later Get, unless m is large.
func Put(m *Memory) {
	if max(m.used, len(m.all)) <= kept {
		m.Free()
		memories.Put(m)
	}
}
