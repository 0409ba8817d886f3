package sampled

import (
	"errors"
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/train"
)

// TestSubset: products with the curvature of rows that stand for all are products with M on average, and the best weights of the linear
// model are the weights of all rows.
func TestSubset(t *testing.T) {
	for _, p := range problems(t)[:3] {
		const seeds = 400
		s := Settings{Samples: 1, PriorStd: 0.7, Tolerance: 1e-6}
		f := begun(t, p.Problem, s)
		mode, v, want := modeOf(t, f), waves(f.size), make([]float64, f.size)
		kernel.Gemm(false, false, f.size, 1, f.size, 1, curvatureOf(t, p.Problem, f), f.size, v, 1, 0, want, 1)
		s.Rows = 9
		mean, square := make([]float64, f.size), make([]float64, f.size)
		for seed := range uint64(seeds) {
			f, product := begunWith(t, p.Problem, s, seed), make([]float64, f.size)
			if err := f.product(t.Context(), f.curved, []int{0}, v, product); err != nil {
				t.Fatal(err)
			}
			kernel.Axpy(1.0/seeds, product, mean)
			kernel.Mul(product, product, product)
			kernel.Axpy(1.0/seeds, product, square)
			if seed < 3 {
				fixture.Close(t, p.Name+" best weights", modeOf(t, f), mode, 1e-5)
			}
		}
		for i, x := range mean {
			scatter := math.Sqrt(max(0, square[i]-x*x) / seeds)
			if math.Abs(x-want[i]) > 5*scatter+1e-9*math.Abs(want[i]) {
				t.Errorf("%s, weight %d: %g ± %g, expected %g", p.Name, i, x, scatter, want[i])
			}
		}
	}
}

// TestSubsetRoot: the root of a weighted Λ is a root of it.
func TestSubsetRoot(t *testing.T) {
	p := problems(t)[2]
	f := begun(t, p.Problem, Settings{Samples: 1, PriorStd: 1, Rows: 9})
	n := f.curved.N() * f.c
	out, v, want := waves(n), waves(2 * n)[n:], make([]float64, n)
	for c := range f.c {
		at, e := -1, make([]float64, n)
		r := f.root(f.curved, 0, out, func() float64 { at++; return map[bool]float64{true: 1}[at%f.c == c] })
		for row := 0; row < n; row += f.c {
			kernel.Axpy(kernel.Dot(r[row:row+f.c], v[row:row+f.c]), r[row:row+f.c], e[row:row+f.c])
		}
		kernel.Add(want, want, e)
	}
	fixture.Close(t, "Λ v", f.times(f.curved, 0, out, v), want, 1e-12)
}

// waves are n numbers.
func waves(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Cos(float64(i * i))
	}
	return v
}

// modeOf is the best weights of the linear model.
func modeOf(t *testing.T, f *fitting) []float64 {
	t.Helper()
	w, err := f.bestWeights(t.Context(), make([]float64, f.size))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestTold: the passes before the first step report their rows, and then steps report themselves.
func TestTold(t *testing.T) {
	p, told := problems(t)[2].Problem, map[string]int{}
	s := Settings{Samples: 2, EMSteps: 1, EMSamples: 2, Iterations: 3}
	small.Fit(t, &s, p, gp.Run{OnProgress: func(q train.Progress) {
		if q.Done == q.Total {
			told[q.Unit]++
		}
		if q.Done > q.Total {
			t.Errorf("%d of %d %s", q.Done, q.Total, q.Unit)
		}
	}})
	if told["steps"] != 1 || told["rows of a pass"] != 2 {
		t.Errorf("ends of %v", told)
	}
}

// TestThreads: passes for several directions at a time have smaller batches where there is little memory, and become passes for one
// direction where no batch is small enough.
func TestThreads(t *testing.T) {
	p := problems(t)[0]
	planned := func(threads int, limit int64) (*linear, error) {
		return newLinear(p.Net, p.Dtype(), p.Train.X.Shape()[1:], p.Outputs(), threads, limit)
	}
	all := small.Must(t, func() (*linear, error) { return planned(4, 1<<30) })
	one := false
	for limit, over := 8*all.cost.Bytes, (*graph.MemoryError)(nil); ; limit = limit * 9 / 10 {
		l, err := planned(4, limit)
		if errors.As(err, &over) {
			break
		}
		if err != nil || 2*int64(l.threads)*l.cost.Bytes > limit || (l.size == all.size) != (limit == 8*all.cost.Bytes) {
			t.Fatalf("%d bytes: %d threads with batches of %d rows, %d bytes each; error %v", limit, l.threads, l.size, l.cost.Bytes, err)
		}
		one = one || l.threads == 1
	}
	if !one {
		t.Error("no limit left one thread")
	}
}
