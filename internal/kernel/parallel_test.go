package kernel

import (
	"sync"
	"testing"
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

// failing panics in its only part.
type failing struct{}

func (failing) Run(int, int) { panic("on purpose") }

func TestParallelSurvivesPanicOfCaller(t *testing.T) {
	defer SetThreads(0)
	SetThreads(2)
	panics(t, "a failing job", func() { Parallel(1, failing{}) })
	c := &counter{runs: make([]int, 4)}
	Parallel(4, c)
	for i, n := range c.runs {
		if n != 1 {
			t.Errorf("part %d ran %d times", i, n)
		}
	}
}
