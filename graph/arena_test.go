package graph

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestArena: regions in use never overlap, and memory that was given back is used
// before new memory.
func TestArena(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a arena
		var used []region
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(used) > 0 && rapid.Bool().Draw(t, "give") {
				i := rapid.IntRange(0, len(used)-1).Draw(t, "which")
				a.give(used[i])
				used = slices.Delete(used, i, i+1)
			} else {
				n, before := rapid.IntRange(1, 100).Draw(t, "n"), a
				fits := slices.ContainsFunc(before.free, func(f region) bool { return f.n >= n+lane-1 })
				r := a.take(n)
				if r.n < n || r.at%lane != 0 || fits && a.size != before.size {
					t.Fatalf("%d elements at %v, the arena grew from %d to %d", n, r, before.size, a.size)
				}
				used = append(used, r)
			}
			a.check(t, used)
		}
	})
}

// check: what is used and what is free cover the arena, without overlap, and no two
// free regions are neighbours.
func (a *arena) check(t *rapid.T, used []region) {
	all := slices.Concat(used, a.free)
	slices.SortFunc(all, func(r, s region) int { return r.at - s.at })
	at := 0
	for i, r := range all {
		if r.at != at {
			t.Fatalf("regions %v with %v free: a gap or an overlap at %d", used, a.free, at)
		}
		at += r.n
		if i > 0 && slices.Contains(a.free, r) && slices.Contains(a.free, all[i-1]) {
			t.Fatalf("free regions %v are neighbours", a.free)
		}
	}
	if at != a.size {
		t.Fatalf("regions end at %d, the arena at %d", at, a.size)
	}
}

// TestArenaEmpties: with everything given back there is one free region, and as much
// as before fits again.
func TestArenaEmpties(t *testing.T) {
	var a arena
	var used []region
	for _, n := range []int{5, 40, 100, 16} {
		used = append(used, a.take(n))
	}
	size := a.size
	for _, i := range []int{2, 0, 3, 1} {
		a.give(used[i])
	}
	if len(a.free) != 1 || a.free[0] != (region{n: size}) || a.take(size).n != size || a.size != size {
		t.Errorf("free regions %v of %d", a.free, size)
	}
}
