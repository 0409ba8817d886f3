package graph

import (
	"cmp"
	"slices"
)

// region is a part of an arena, in elements.
type region struct {
	at, n int  // the first element and the number of elements
	once  bool // the value is computed once and lies in the memory of the program that computes it
}

// arena plans the use of one piece of memory: regions that are given back are given out again.
// It allocates nothing; size is the number of elements that the plan needs.
type arena struct {
	size int      // elements that the plan needs
	free []region // in order, no two regions are neighbours
}

// lane is the number of elements of which the start of every region is a multiple: a cache line of
// float32.
const lane = 16

// take returns room for n elements: the smallest free region that is large enough, the
// first of several, else new memory.
func (a *arena) take(n int) region {
	n = (n + lane - 1) / lane * lane
	best := -1
	for i, f := range a.free {
		if f.n >= n && (best < 0 || f.n < a.free[best].n) {
			best = i
		}
	}
	if best < 0 {
		return a.grow(n)
	}
	r := region{at: a.free[best].at, n: n}
	if a.free[best].n == n {
		a.free = slices.Delete(a.free, best, best+1)
	} else {
		a.free[best] = region{at: r.at + n, n: a.free[best].n - n}
	}
	return r
}

// grow returns room at the end, where a free region may already be a part of it.
func (a *arena) grow(n int) region {
	r := region{at: a.size, n: n}
	if last := len(a.free) - 1; last >= 0 && a.free[last].at+a.free[last].n == a.size {
		r.at = a.free[last].at
		a.free = a.free[:last]
	}
	a.size = r.at + n
	return r
}

// give takes a region back.
func (a *arena) give(r region) {
	i, _ := slices.BinarySearchFunc(a.free, r, func(f, r region) int { return cmp.Compare(f.at, r.at) })
	a.free = slices.Insert(a.free, i, r)
	for _, k := range []int{i, i - 1} { // the neighbour behind, then the neighbour in front
		if k >= 0 && k+1 < len(a.free) && a.free[k].at+a.free[k].n == a.free[k+1].at {
			a.free[k].n += a.free[k+1].n
			a.free = slices.Delete(a.free, k+1, k+2)
		}
	}
}
