package laplace

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
)

// Without prior variance there is no variance; with noise beyond all data, or
// inputs the data say nothing of, there is the prior's.
func TestLimits(t *testing.T) {
	prob := newProblem(t, 6, tensor.Float64, 25, 7, 2)
	prior := run(t, prob.net, prob.probe, func(b *graph.Builder, x *graph.Node) []*graph.Node {
		return []*graph.Node{jacobian.NTK{Net: prob.net}.Diag(b, x)}
	})[0]
	for name, space := range spaces {
		p := prob.fit(t, options{PriorStd: 1, NoiseStd: 1e9, Space: space})
		_, cov := small.Moments(t, p, prob.probe)
		fixture.Close(t, name+": no information", cov, prior, 1e-12)
		_, cov = small.Moments(t, at(t, p, 1e-8, 1), prob.probe)
		for i := range cov {
			if math.Abs(cov[i]-1e-16*prior[i]) > 1e-26 {
				t.Errorf("%s: σ₀ = 1e-8: covariance %g, want %g", name, cov[i], 1e-16*prior[i])
			}
		}
	}
}

// At a training point with almost no noise the variance is almost the noise's. In
// function space, where the prior's 1e12 times larger cancels, it stays positive.
func TestInterpolation(t *testing.T) {
	prob := newProblem(t, 7, tensor.Float64, 10, 20, 1)
	const noise = 1e-6
	p := prob.fit(t, options{PriorStd: 1, NoiseStd: noise, Space: spaceFunctions})
	_, cov := small.Moments(t, p, prob.x)
	for i, v := range cov {
		if !(v > 0 && v <= noise*noise*(1+1e-4)) {
			t.Errorf("variance %g at training point %d, want at most the noise's %g", v, i, noise*noise)
		}
	}
}

func TestBatchSizeDoesNotMatter(t *testing.T) {
	const n = 23
	prob := newProblem(t, 8, tensor.Float64, n, 5, 2)
	for name, space := range spaces {
		var mean, cov []float64
		var lml float64
		for _, size := range []int{1, 4, n, 1000, 0} {
			p := prob.fit(t, options{PriorStd: 1, NoiseStd: 0.5, Space: space, BatchSize: size})
			m, c := small.Moments(t, p, prob.probe)
			if mean == nil {
				mean, cov, lml = m, c, p.LogMarginalLikelihood()
			}
			what := label(name, ", batches of ", size, ": ")
			fixture.Close(t, what+"mean", m, mean, 1e-13)
			fixture.Close(t, what+"covariance", c, cov, 1e-11)
			fixture.Close(t, what+"lml", []float64{p.LogMarginalLikelihood()}, []float64{lml}, 1e-12)
		}
	}
}

// Rows are added to H in chunks. More rows than a chunk, and batches larger than a chunk,
// change nothing.
func TestChunks(t *testing.T) {
	prob := newProblem(t, 9, tensor.Float64, minChunk+300, 3, 1)
	whole := prob.fit(t, options{PriorStd: 1, NoiseStd: 0.5, BatchSize: minChunk + 300})
	_, want := small.Moments(t, whole, prob.probe)
	for _, size := range []int{7, 400} {
		p := prob.fit(t, options{PriorStd: 1, NoiseStd: 0.5, BatchSize: size})
		if _, ok := p.structure.(*weightSpace); !ok {
			t.Fatal("this test is about weight space")
		}
		_, cov := small.Moments(t, p, prob.probe)
		fixture.Close(t, label("batches of ", size), cov, want, 1e-10)
	}
}

// A posterior serves several goroutines, and At leaves the original alone.
func TestConcurrentUse(t *testing.T) {
	prob := newProblem(t, 10, tensor.Float64, 30, 6, 1)
	p := prob.fit(t, options{PriorStd: 1, NoiseStd: 0.5, BatchSize: 3})
	_, want := small.Moments(t, p, prob.probe)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			q, err := p.at(t.Context(), 2, 0.1)
			if err != nil || q.PriorStd() != 2 || p.PriorStd() != 1 {
				t.Errorf("At: %v", err)
			}
			g, err := gp.Predict(t.Context(), p, prob.probe)
			if err != nil {
				t.Error(err)
				return
			}
			fixture.Close(t, "concurrent prediction", g.Cov, want, 0)
		})
	}
	wg.Wait()
}

// A subset is the fit of its rows alone, another for another seed; a subset of all is
// all, in another order.
func TestSubset(t *testing.T) {
	prob := newProblem(t, 17, tensor.Float64, 20, 4, 2)
	o := options{PriorStd: 1, NoiseStd: 0.5}
	whole := prob.fit(t, o)
	o.Subset = 20
	comparePosteriors(t, "all", prob.fit(t, o), whole, prob.probe)
	o.Subset = 6
	d, err := newData(prob.x, prob.y, o)
	if err != nil {
		t.Fatal(err)
	}
	got := prob.fit(t, o)
	rows := prob
	rows.x, rows.y = d.X, d.Y
	comparePosteriors(t, "six", got, rows.fit(t, options{PriorStd: 1, NoiseStd: 0.5}), prob.probe)
	comparePosteriors(t, "the same seed", got, prob.fit(t, o), prob.probe)
	for i := range 6 {
		if !slices.ContainsFunc(slices.Collect(slices.Chunk(prob.x.Float64s(), 2)), func(v []float64) bool { return slices.Equal(v, rows.x.Float64s()[2*i:2*i+2]) }) {
			t.Errorf("example %d of the subset is none of all", i)
		}
	}
	o.Seed = 1
	if other := prob.fit(t, o); other.LogMarginalLikelihood() == got.LogMarginalLikelihood() {
		t.Error("another seed gives the same subset")
	}
}

// A posterior says before the first prediction how much memory predictions take: with KFAC and the diagonal exactly, and in full in float64
// but for the few examples with little variance left.
func TestCompiledBytes(t *testing.T) {
	check := func(what string, q *posterior, x *tensor.Dense) {
		of, err := q.Compile(gp.Request{Shape: x.Shape()[1:], Size: x.Shape()[0]})
		if err != nil {
			t.Fatal(err)
		}
		c, before := of.(*compiled), of.Bytes()
		if err := c.Predict(t.Context(), graph.Floats(x), new(gp.Gaussian)); err != nil {
			t.Fatal(err)
		}
		_, exact := q.predictor.(spectralPredictor)
		taken := int64(8*c.s.double.size() + 4*c.s.single.size())
		if after := c.Bytes(); c.s.float == tensor.Float64 && after > before*5/4 || exact && c.working != taken {
			t.Errorf("%s: %d bytes before the first prediction, %d after; %d of scratch expected, %d taken", what, before, after, c.working, taken)
		}
	}
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		everyMember([]int{3}, func(what string, o options, c int) {
			p := problemFor(t, o, 19, dt, 40, 8, c)
			check(label(dt, ", ", what), p.fit(t, o), p.probe)
		})
		for _, s := range []structureKind{kindKFAC, kindDiagonal} {
			o := options{Structure: s, PriorStd: 1, NoiseStd: 1}
			p := images(t, o, dt, 10, 3)
			check(label(dt, ", images, ", s), p.fit(t, o), p.probe)
		}
	}
}

// The memory that a structure needs does not depend on the number of examples, but
// for the function space, which says how much it would need.
func TestMemoryAndExamples(t *testing.T) {
	everyMember([]int{3}, func(what string, o options, c int) {
		if o.Structure == kindFull || o.Structure == kindLowRank {
			o.Space = spaceWeights
		}
		if a, b := structureBytes(t, o, 100, c), structureBytes(t, o, 1000, c); a != b {
			t.Errorf("%s: %d bytes for 100 examples, %d for 1000", what, a, b)
		}
	})
	o := options{Space: spaceFunctions, PriorStd: 1, NoiseStd: 1, BatchSize: 4}
	// G, its factor and the factor before, [300,300]; the factors of J in both layers, [300,4] and [100,2],
	// [300,3] and [100,4]; and the inputs, [100,2].
	if got, want := structureBytes(t, o, 100, 3), int64(8*(3*300*300+300*4+100*2+300*3+100*4+100*2)); got != want {
		t.Errorf("function space: %d bytes, want %d", got, want)
	}
	prob := newProblem(t, 18, tensor.Float64, 1, 4, 3)
	if got, err := KeptOfExample(prob.net, prob.x.Shape()[1:], 3); err != nil || got != 8*(3*4+2+3*3+4) {
		t.Errorf("%d bytes kept of an example, error %v", got, err)
	}
	for _, s := range []structureKind{kindKFAC, kindDiagonal} {
		var tooMuch *graph.MemoryError
		p := newProblem(t, 18, tensor.Float64, 100, 50, 3)
		_, err := fitOptions(t.Context(), p.net, p.x, p.y, options{Structure: s, MemoryLimit: 2000})
		if !errors.As(err, &tooMuch) || tooMuch.Need < 8*2*303 { // the spectrum alone, for 2·50 + 50 + 50·3 + 3 weights
			t.Errorf("%v: error %v, want a MemoryError", s, err)
		}
	}
}

func structureBytes(t *testing.T, o options, n, c int) int64 {
	p := problemFor(t, o, 18, tensor.Float64, n, 4, c)
	d, err := newData(p.x, p.y, o)
	if err != nil {
		t.Fatal(err)
	}
	return p.unfitted(t, d, o).structure.bytes()
}
