package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/go-valla/valla/internal/dense"
)

func TestRows(t *testing.T) {
	s := &Set{
		Features: []string{"a", "b"}, Targets: []string{"c"},
		X: dense.Of([]float64{1, 2, 3, 4, 5, 6}, 3, 2),
		Y: dense.Of([]float64{7, 8, 9}, 3, 1),
	}
	got := s.Rows([]int{2, 0, 2})
	if !slices.Equal(got.X.Float64s(), []float64{5, 6, 1, 2, 5, 6}) || !slices.Equal(got.Y.Float64s(), []float64{9, 7, 9}) {
		t.Errorf("rows %v, %v", got.X.Data(), got.Y.Data())
	}
	if got.N() != 3 || got.Targets[0] != "c" || !slices.Equal(got.Features, s.Features) {
		t.Errorf("set %+v", got)
	}
	got.X.Float64s()[0] = 100
	if s.X.Float64s()[4] != 5 {
		t.Error("a change of the rows reached the set")
	}
}

func TestGather(t *testing.T) {
	dst := []float32{0, 0, 0, 0, -1}
	Gather(dst, []float32{1, 2, 3, 4, 5, 6}, 2, []int{2, 1})
	if want := []float32{5, 6, 3, 4, -1}; !slices.Equal(dst, want) {
		t.Errorf("gathered %v, want %v", dst, want)
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		n        int
		fraction float64
		test     int
	}{
		{10, 0.1, 1}, {10, 0.25, 3}, {10, 0.24, 2}, {10, 0, 0}, {10, 1, 10}, {0, 0.5, 0},
		{10, -1, 0}, {10, 2, 10}, {10, math.NaN(), 0}, {10, math.Inf(1), 10},
	} {
		train, test := Split(c.n, c.fraction, rand.New(rand.NewPCG(1, 2)))
		if len(test) != c.test {
			t.Errorf("Split(%d, %g): %d test rows, want %d", c.n, c.fraction, len(test), c.test)
		}
		if all := slices.Sorted(slices.Values(slices.Concat(train, test))); !slices.Equal(all, ascending(c.n)) {
			t.Errorf("Split(%d, %g): rows %v", c.n, c.fraction, all)
		}
	}
	train, test := Split(100, 0.3, rand.New(rand.NewPCG(1, 2)))
	again, testAgain := Split(100, 0.3, rand.New(rand.NewPCG(1, 2)))
	if !slices.Equal(train, again) || !slices.Equal(test, testAgain) {
		t.Error("the same source gave another split")
	}
	if _, other := Split(100, 0.3, rand.New(rand.NewPCG(1, 3))); slices.Equal(test, other) {
		t.Error("another source gave the same split")
	}
}

func ascending(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestNewSamplerRefuses(t *testing.T) {
	for _, c := range []struct{ n, b int }{{10, 0}, {10, -1}, {10, 11}, {0, 0}, {0, 1}} {
		if s, err := NewSampler(c.n, c.b, 1); err == nil || s != nil {
			t.Errorf("NewSampler(%d, %d) = %v, %v, want an error", c.n, c.b, s, err)
		}
	}
	_, err := NewSampler(10, 11, 1)
	expectError(t, err, "batch size 11", "1 to 10")
}

// The batches, one after the other, are the epochs, each a permutation.
func TestSamplerCoversEachEpoch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		b := rapid.IntRange(1, n).Draw(t, "b")
		s := sampler(t, n, b, rapid.Uint64().Draw(t, "seed"))
		var stream []int
		for i := range 3*n/b + 1 {
			batch := s.Batch(i, nil)
			if len(batch) != b {
				t.Fatalf("batch %d has %d rows, want %d", i, len(batch), b)
			}
			stream = append(stream, batch...)
		}
		for epoch := range len(stream) / n {
			rows := slices.Sorted(slices.Values(stream[epoch*n : (epoch+1)*n]))
			if !slices.Equal(rows, ascending(n)) {
				t.Fatalf("epoch %d visits %v", epoch, rows)
			}
		}
	})
}

// A batch does not depend on what was asked for before.
func TestSamplerIsStateless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		b := rapid.IntRange(1, n).Draw(t, "b")
		seed := rapid.Uint64().Draw(t, "seed")
		used := sampler(t, n, b, seed)
		dst := make([]int, 3)
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 10).Draw(t, "iterations") {
			dst = used.Batch(i, dst)
			if fresh := sampler(t, n, b, seed).Batch(i, nil); !slices.Equal(dst, fresh) {
				t.Fatalf("iteration %d: %v, from a fresh sampler %v", i, dst, fresh)
			}
		}
	})
}

func sampler(t rapid.TB, n, b int, seed uint64) *Sampler {
	s, err := NewSampler(n, b, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The place of a batch agrees with the plain formula iteration*b = epoch*n+at,
// and is right where the product overflows.
func TestLocate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		b := rapid.IntRange(1, n).Draw(t, "b")
		i := rapid.IntRange(0, 1<<40).Draw(t, "iteration")
		if epoch, at := locate(i, b, n); epoch != i*b/n || at != i*b%n {
			t.Fatalf("locate(%d, %d, %d) = %d, %d, want %d, %d", i, b, n, epoch, at, i*b/n, i*b%n)
		}
	})
	// (2^62 + 1) * 4 = 2^64 + 4 = 2^61 * 8 + 4
	if epoch, at := locate(1<<62+1, 4, 8); epoch != 1<<61 || at != 4 {
		t.Errorf("locate(2^62+1, 4, 8) = %d, %d, want 2^61, 4", epoch, at)
	}
}

// Seeds and epochs give different, even permutations: over 6000 epochs of three
// rows each of the 6 orders comes 1000 times, with a standard deviation of
// sqrt(6000*1/6*5/6) = 28.9; five of those are allowed.
func TestSamplerIsUniform(t *testing.T) {
	for _, bySeed := range []bool{false, true} {
		counts := map[[3]int]int{}
		for i := range 6000 {
			seed, iteration := uint64(7), i
			if bySeed {
				seed, iteration = uint64(i), 0
			}
			counts[[3]int(sampler(t, 3, 3, seed).Batch(iteration, nil))]++
		}
		for order, c := range counts {
			if len(counts) != 6 || math.Abs(float64(c)-1000) > 5*28.9 {
				t.Errorf("by seed %v: order %v came %d times, want about 1000", bySeed, order, c)
			}
		}
	}
}

func TestSamplerAllocatesNothing(t *testing.T) {
	s := sampler(t, 50, 7, 1)
	dst := s.Batch(0, nil)
	i := 0
	if n := testing.AllocsPerRun(100, func() { i++; dst = s.Batch(i, dst) }); n != 0 {
		t.Errorf("%g allocations a batch", n)
	}
}

func TestBatchPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("iteration -1 gave a batch")
		}
	}()
	sampler(t, 3, 1, 1).Batch(-1, nil)
}
