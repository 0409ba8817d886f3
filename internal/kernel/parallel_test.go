package kernel

import (
	"bytes"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
)

// counter counts how often each part ran; every part has its own element.
type counter struct{ runs []int }

func (c *counter) Run(part, _ int) { c.runs[part]++ }

func TestParallelRunsEveryPartOnce(t *testing.T) {
	defer SetThreads(0)
	for threads := range 5 {
		SetThreads(threads)
		for parts := range 20 {
			c := &counter{runs: make([]int, parts)}
			for range 50 {
				Parallel(parts, c)
			}
			for i, n := range c.runs {
				if n != 50 {
					t.Fatalf("%d threads: part %d of %d ran %d times, want 50", threads, i, parts, n)
				}
			}
		}
	}
}

// TestParallelSleepsAndWakes: jobs of any cost run every part once, whether workers are awake, asleep
// or about to fall asleep, and workers without work fall asleep.
func TestParallelSleepsAndWakes(t *testing.T) {
	defer SetThreads(0)
	SetThreads(4)
	costs := []int{0, 1000, int(patience) / 2, long}
	c := &counter{runs: make([]int, 7)}
	for i := range 400 {
		Share(7, costs[i%len(costs)], c)
		for begin := time.Now(); time.Since(begin) < time.Duration(i%40)*5*time.Microsecond; {
		}
	}
	for i, n := range c.runs {
		if n != 400 {
			t.Errorf("part %d ran %d times, want 400", i, n)
		}
	}
	for _, w := range *pool.workers.Load() {
		for !w.asleep.Load() {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestParallelFromManyGoroutines(t *testing.T) {
	defer SetThreads(0)
	SetThreads(3)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c := &counter{runs: make([]int, 7)}
			for range 300 {
				Parallel(7, c)
			}
			for i, n := range c.runs {
				if n != 300 {
					t.Errorf("part %d ran %d times, want 300", i, n)
				}
			}
		})
	}
	wg.Wait()
}

// nested starts a parallel job inside each part.
type nested struct{ inner []counter }

func (n *nested) Run(part, _ int) { Parallel(3, &n.inner[part]) }

func TestParallelNests(t *testing.T) {
	defer SetThreads(0)
	SetThreads(2)
	n := &nested{inner: make([]counter, 4)}
	for i := range n.inner {
		n.inner[i].runs = make([]int, 3)
	}
	Parallel(4, n)
	for i := range n.inner {
		for j, runs := range n.inner[i].runs {
			if runs != 1 {
				t.Errorf("part %d,%d ran %d times", i, j, runs)
			}
		}
	}
}

// failing panics in the parts that run on the caller.
type failing struct{}

func (failing) Run(int, int) {
	if !bytes.Contains(debug.Stack(), []byte("(*worker).loop")) {
		panic("on purpose")
	}
}

func TestParallelSurvivesPanicOfCaller(t *testing.T) {
	defer SetThreads(0)
	SetThreads(2)
	panics(t, "a failing job", func() { Parallel(1000, failing{}) })
	if pool.taken.Load() {
		t.Fatal("the workers were not freed")
	}
}

// slowWorkers sleeps in the parts that run on workers, as if another program had taken the processor, and counts these parts.
type slowWorkers struct{ parts *atomic.Int64 }

func (s slowWorkers) Run(int, int) {
	if bytes.Contains(debug.Stack(), []byte("(*worker).loop")) {
		s.parts.Add(1)
		time.Sleep(20 * time.Millisecond)
		return
	}
	for begin := time.Now(); time.Since(begin) < 20*time.Microsecond; { // leaves parts to a worker
	}
}

// A worker that holds up the caller gets no parts for a while, and then again.
func TestParallelAvoidsSlowWorkers(t *testing.T) {
	defer SetThreads(0)
	SetThreads(2)
	pool.alone.Store(0)
	s := slowWorkers{new(atomic.Int64)}
	for pool.alone.Load() == 0 {
		Parallel(50, s)
	}
	until := time.Duration(pool.alone.Load())
	for time.Since(start) < until {
		before := s.parts.Load()
		if Parallel(10, s); s.parts.Load() > before && time.Since(start) < until {
			t.Fatal("a slow worker got a part")
		}
	}
	for before := s.parts.Load(); s.parts.Load() == before; {
		Parallel(50, s)
	}
	pool.alone.Store(0)
}

func TestThreadsAgree(t *testing.T) {
	bothTypes(t, testThreadsAgree[float32], testThreadsAgree[float64])
}

// testThreadsAgree runs everything that may use threads, at sizes where it
// does, and wants the same bits from one thread and from several.
func testThreadsAgree[T Float](t *testing.T) {
	defer SetThreads(0)
	r := source(3)
	for _, s := range [][3]int{{300, 300, 100}, {20, 900, 300}, {2000, 10, 200}, {100, 100, 100}, {101, 197, 90}, {67, 33, 401}} {
		for _, trans := range [][2]bool{{false, true}, {true, false}, {false, false}} {
			p := newProduct[T](r, trans[0], trans[1], s[0], s[1], s[2], 1, 1, 1)
			checkThreads(t, "Gemm", p.c, p.run)
		}
	}
	l, b := lowerFactor[T](r, 150, 1), newMatrix[T](r, 331, 331, 1)
	for _, n := range []int{64, 71, 100, 129} {
		checkThreads(t, "Trsm of few systems", b, func(b matrix[T]) { Trsm(false, false, 150, n, l.s(), l.ld, b.s(), b.ld) })
		checkThreads(t, "right Trsm of few systems", b, func(b matrix[T]) { Trsm(true, false, n, 150, l.s(), l.ld, b.s(), b.ld) })
		checkThreads(t, "small Syrk", b, func(c matrix[T]) { Syrk(false, n, 331, 1, b.s(), b.ld, 0, c.s(), c.ld) })
	}
	checkThreads(t, "Trsm", b, func(b matrix[T]) { Trsm(false, true, 150, 331, l.s(), l.ld, b.s(), b.ld) })
	checkThreads(t, "right Trsm", b, func(b matrix[T]) { Trsm(true, true, 331, 150, l.s(), l.ld, b.s(), b.ld) })
	checkThreads(t, "Syrk", b, func(c matrix[T]) { Syrk(true, 331, 150, 1, b.s(), b.ld, 0, c.s(), c.ld) })
	long := newMatrix[T](r, 1, 37*1000, 0).s()
	for _, n := range []int{25, 37} { // the last tile has a single row
		checkThreads(t, "Syrk of long rows", b, func(c matrix[T]) { Syrk(false, n, 1000, 1, long, 1000, 0, c.s(), c.ld) })
		checkThreads(t, "Syrk of long columns", b, func(c matrix[T]) { Syrk(true, n, 1000, 1, long, n, 0, c.s(), c.ld) })
		checkThreads(t, "an upper triangle of long rows", b, func(c matrix[T]) { syrk(blas.Upper, blas.NoTrans, n, 1000, 1, long, 1000, 0.5, c.s(), c.ld) })
	}
	for _, ul := range []blas.Uplo{blas.Lower, blas.Upper} {
		checkThreads(t, "a triangle of Syrk", b, func(c matrix[T]) { syrk(ul, blas.NoTrans, 331, 150, 1, b.s(), b.ld, 0.5, c.s(), c.ld) })
	}
	for i := range b.rows {
		b.set(i, i, 400)
	}
	checkThreads(t, "Cholesky", b, func(a matrix[T]) {
		if p := Cholesky(331, a.s(), a.ld); p >= 0 {
			t.Fatalf("pivot %d", p)
		}
	})
}

func checkThreads[T Float](t *testing.T, what string, c matrix[T], f func(c matrix[T])) {
	t.Helper()
	SetThreads(1)
	one := c.clone()
	f(one)
	for _, threads := range []int{2, 3, 5} {
		SetThreads(threads)
		many := c.clone()
		f(many)
		for i := range one.all {
			if one.all[i] != many.all[i] {
				t.Fatalf("%s: element %d differs between 1 and %d threads", what, i, threads)
			}
		}
	}
}
