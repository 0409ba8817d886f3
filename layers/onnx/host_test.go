package onnx

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawHost draws a constant of up to three axes.
func drawHost(t *rapid.T, name string) *host {
	shape := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 3).Draw(t, name+" shape")
	h := &host{shape: shape, v: make([]float64, product(shape))}
	for i := range h.v {
		h.v[i] = float64(i + 1)
	}
	return h
}

// places lists all indices of a shape in row-major order.
func places(shape []int) [][]int {
	all := [][]int{{}}
	for _, n := range shape {
		var more [][]int
		for _, p := range all {
			for k := range n {
				more = append(more, append(slices.Clone(p), k))
			}
		}
		all = more
	}
	return all
}

// at returns the element at an index, of which the last axes count and axes of one element do not.
func (h *host) at(index []int) float64 {
	index = index[len(index)-len(h.shape):]
	at := 0
	for d, n := range h.shape {
		at *= n
		if n > 1 {
			at += index[d]
		}
	}
	return h.v[at]
}

// TestBroadcast: pairs of constants are joined element by element, as the shapes say, or refused
// where an axis has two lengths.
func TestBroadcast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawHost(t, "a"), drawHost(t, "b")
		fits := true
		for d := 1; d <= min(len(a.shape), len(b.shape)); d++ {
			m, n := a.shape[len(a.shape)-d], b.shape[len(b.shape)-d]
			fits = fits && (m == n || m == 1 || n == 1)
		}
		got, err := zip(a, b, false, func(x, y float64) float64 { return 100*x + y })
		if fits != (err == nil) {
			t.Fatalf("shapes %v and %v: error %v", a.shape, b.shape, err)
		}
		if !fits {
			if !strings.Contains(err.Error(), "do not fit together") {
				t.Fatalf("error %v", err)
			}
			return
		}
		for i, p := range places(got.shape) {
			if want := 100*a.at(p) + b.at(p); got.v[i] != want {
				t.Fatalf("shapes %v and %v: %g at %v, want %g", a.shape, b.shape, got.v[i], p, want)
			}
		}
		again, err := broadcast(b.shape, a.shape)
		if err != nil || !slices.Equal(again, got.shape) {
			t.Fatalf("the other way round: %v, error %v, want %v", again, err, got.shape)
		}
	})
}

// TestTransposed: a permutation of axes moves every element, and its inverse moves it back.
func TestTransposed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHost(t, "h")
		var axes []int
		for d := range h.shape {
			axes = append(axes, d)
		}
		perm := rapid.Permutation(axes).Draw(t, "perm")
		got, err := h.transposed(perm)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range places(got.shape) {
			from := make([]int, len(p))
			for d, k := range p {
				from[perm[d]] = k
			}
			if got.v[i] != h.at(from) {
				t.Fatalf("%g at %v, want %g", got.v[i], p, h.at(from))
			}
		}
		inverse := make([]int, len(perm))
		for d, p := range perm {
			inverse[p] = d
		}
		if back, err := got.transposed(inverse); err != nil || !slices.Equal(back.v, h.v) || !slices.Equal(back.shape, h.shape) {
			t.Fatalf("back: %v, error %v, want %v", back, err, h)
		}
	})
}

// TestGathered: parts along an axis stand at their new places.
func TestGathered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHost(t, "h")
		if len(h.shape) == 0 {
			return
		}
		axis := rapid.IntRange(0, len(h.shape)-1).Draw(t, "axis")
		at := rapid.SliceOfN(rapid.IntRange(0, h.shape[axis]-1), 1, 5).Draw(t, "at")
		got, err := h.gathered(axis, at)
		if err != nil || got.shape[axis] != len(at) {
			t.Fatalf("%v, error %v", got, err)
		}
		for i, p := range places(got.shape) {
			from := slices.Clone(p)
			from[axis] = at[p[axis]]
			if got.v[i] != h.at(from) {
				t.Fatalf("%g at %v, want %g", got.v[i], p, h.at(from))
			}
		}
	})
}

// TestJoins: the ranges of old axes have the extents of the new axes, one after the other; a shape
// that divides an axis has no ranges.
func TestJoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 4).Draw(t, "from")
		to := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 4).Draw(t, "to")
		if rapid.Bool().Draw(t, "joined") { // two neighbours become one axis
			d := rapid.IntRange(0, len(from)-1).Draw(t, "at")
			to = slices.Clone(from)
			if d+1 < len(to) {
				to = slices.Concat(to[:d], []int{to[d] * to[d+1]}, to[d+2:])
			}
		}
		runs := joins(from, to)
		if runs == nil {
			return
		}
		end := 0
		for k, run := range runs {
			if product(from[run[0]:run[1]]) != to[k] || run[0] < end || product(from[end:run[0]]) != 1 {
				t.Fatalf("%v to %v by %v", from, to, runs)
			}
			end = run[1]
		}
		if len(runs) != len(to) || end != len(from) {
			t.Fatalf("%v to %v by %v", from, to, runs)
		}
	})
	for _, c := range []struct {
		from, to []int
		runs     [][2]int
	}{
		{[]int{2, 3}, []int{6}, [][2]int{{0, 2}}}, {[]int{2, 3, 4}, []int{2, 12}, [][2]int{{0, 1}, {1, 3}}},
		{[]int{6}, []int{2, 3}, nil}, {[]int{2, 3}, []int{3, 2}, nil}, {[]int{2, 3}, []int{2, 3, 1}, nil}, {[]int{2, 1, 3}, []int{2, 3}, [][2]int{{0, 2}, {2, 3}}},
	} {
		if got := joins(c.from, c.to); !slices.Equal(got, c.runs) {
			t.Errorf("%v to %v by %v, want %v", c.from, c.to, got, c.runs)
		}
	}
}

// TestConstantsThatAreTooLarge: no constant of a file makes an array without bounds.
func TestConstantsThatAreTooLarge(t *testing.T) {
	h := &host{shape: []int{1}, v: []float64{1}}
	for name, f := range map[string]func() (*host, error){
		"expanded": func() (*host, error) { return h.expanded([]int{maxHost + 1}) },
		"view":     func() (*host, error) { return h.view([]int{1 << 20, 1 << 20}, []int{0, 0}) },
		"zip": func() (*host, error) {
			return zip(&host{shape: []int{maxHost, 1}, v: make([]float64, maxHost)}, &host{shape: []int{2}, v: make([]float64, 2)}, false, math.Max)
		},
		"gathered": func() (*host, error) {
			return (&host{shape: []int{2, 1 << 12}, v: make([]float64, 1<<13)}).gathered(0, make([]int, 1<<12))
		},
	} {
		if got, err := f(); err == nil {
			t.Errorf("%s: shape %v", name, got.shape)
		}
	}
}

// TestHugeIntegers: integers beyond the integers of float64 stand for the ends of an axis.
func TestHugeIntegers(t *testing.T) {
	h := &host{shape: []int{4}, v: []float64{math.MaxInt64, math.MinInt64, 1<<53 - 1, -3}}
	if got, want := h.ints(), []int{math.MaxInt32, math.MinInt32, 1<<53 - 1, -3}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if n := (*host)(nil).size(); n != 0 {
		t.Errorf("nil has %d elements", n)
	}
	if _, ok := h.scalar(); ok {
		t.Error("four elements are a scalar")
	}
}
