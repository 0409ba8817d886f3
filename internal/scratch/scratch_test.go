package scratch

import "testing"

// Slices do not overlap, and after Free they are the same memory again.
func TestMemory(t *testing.T) {
	var m Memory
	for round := range 3 {
		a, b := m.Take(3), m.Zeros(2)
		for i := range a {
			a[i] = 1
		}
		if len(a) != 3 || cap(a) != 3 || len(b) != 2 || b[0] != 0 || b[1] != 0 {
			t.Fatalf("round %d: %v of %d, %v", round, a, cap(a), b)
		}
		b[0] = 5
		m.Free()
	}
	if n := testing.AllocsPerRun(10, func() { m.Take(3); m.Zeros(2); m.Free() }); n != 0 {
		t.Errorf("%g allocations", n)
	}
	var none *Memory
	if a := none.Zeros(4); len(a) != 4 {
		t.Error(a)
	}
	none.Free()
}

// A large Memory is not kept.
func TestPut(t *testing.T) {
	m := Get()
	m.Take(kept + 1)
	Put(m)
	if m.all != nil {
		t.Errorf("%d numbers are kept", len(m.all))
	}
	m = Get()
	m.Take(10)
	Put(m)
	if m.used != 0 {
		t.Errorf("%d numbers are in use", m.used)
	}
}
