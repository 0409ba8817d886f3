package laplace

import (
	"math"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The rows that a thinning takes have the sum of all rows' squares to three ε, and their sizes have
// the sum of all sizes. These rows are few where the outputs are sure. The first rows are all taken.
func TestThinning(t *testing.T) {
	const n, c = 20_000, 6
	for _, epsilon := range []float64{0, 1e-3, 1e-2} {
		rng, f := newRand(7), make([]float64, c)
		thin := thinning{epsilon: epsilon}
		var all, got [c * c]float64
		add := func(sum *[c * c]float64, row []float64) {
			for i := range c * c {
				sum[i] += row[i/c] * row[i%c]
			}
		}
		taken, lambda := 0, make([]float64, c*c)
		for i := range n {
			for k := range f {
				f[k] = 10 * rng.NormFloat64()
			}
			likelihood.Softmax{}.Curvature(lambda, f)
			for k, v := range lambda {
				all[k] += v
			}
			thin.look(likelihood.Softmax{}, nil, f)
			for k := range c {
				if row := thin.row(k); thin.takes(row) {
					add(&got, row)
					taken++
				}
			}
			if i == keptRows/c-1 && taken < keptRows/c*c {
				t.Fatalf("ε %g: %d of the first %d rows are taken", epsilon, taken, keptRows/c*c)
			}
		}
		trace, want, off, norm := 0.0, 0.0, 0.0, 0.0
		for i := range c * c {
			if i%(c+1) == 0 {
				trace, want = trace+got[i], want+all[i]
			}
			off, norm = off+(got[i]-all[i])*(got[i]-all[i]), norm+all[i]*all[i]
		}
		if off = math.Sqrt(off / norm); off > max(3*epsilon, 1e-12) || math.Abs(trace-want) > max(2*epsilon*epsilon, 1e-12)*want {
			t.Errorf("ε %g: error %g, trace %g, want %g", epsilon, off, trace, want)
		}
		if most := n * c; epsilon == 0 && taken != most || epsilon > 0 && (taken > most/2 || off < 1e-9) {
			t.Errorf("ε %g: %d of %d rows are taken, error %g", epsilon, taken, most, off)
		}
	}
}

// countedRows is a structure that counts the rows that it is given.
type countedRows struct {
	byRows
	rows int
}

func (c *countedRows) addRows(b batch) error {
	c.rows += b.count
	return c.byRows.addRows(b)
}

// turnedLayer is a dense layer whose weights are stored output first.
type turnedLayer struct{ layers.Dense }

func (l turnedLayer) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.MatMul(x, b.Param(l.W), false, true)
}

func (l turnedLayer) Params() []*graph.Param { return []*graph.Param{l.W} }

// sureClasses is a problem of images, whose network has probabilities near 0 and 1.
func sureClasses(t *testing.T, dt tensor.Dtype, n, c int) problem {
	p, rng := newClasses(t, 21, dt, n, 6, c), newRand(22)
	p.x = small.Normal(rng, tensor.Float64, n, 1, 4, 3)
	turned := graph.NewParam("turned", small.Normal(rng, tensor.Float64, 5*12).Float64s(), dt, 5, 12)
	p.net = layers.Sequential{
		biased(layers.Conv2D{Name: "conv1", Filters: 2, Kernel: 3, Padding: 1, Bias: true}, 1, dt, rng), layers.Activation("tanh"),
		layers.NewConv2D("conv2", 2, 3, 3, 2, 1, dt, rng), layers.Activation("tanh"), layers.Flatten{},
		turnedLayer{layers.Dense{W: turned}}, layers.Activation("tanh"), layers.NewDense("fc", 5, c, dt, rng),
	}
	last := layers.LastLayer(p.net)[0]
	for i := range last.Value.Shape().TotalSize() {
		last.Set(i, 60*last.Floats()[i])
	}
	return p
}

// H from rows of Λ^½ J is that from whole Jacobians, exactly if all rows are taken, and else from
// few rows to some ε.
func TestRooted(t *testing.T) {
	for dt, tol := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 2e-5} {
		for _, s := range []structureKind{kindKFAC, kindDiagonal} {
			for _, exact := range []bool{true, false} {
				const n, c = 2000, 4
				p := sureClasses(t, dt, n, c)
				o := options{Structure: s, Likelihood: likelihood.Softmax{}, Exact: exact}
				d, err := newData(p.x, p.y, o)
				if err != nil {
					t.Fatal(err)
				}
				whole, rooted := p.unfitted(t, d, o), p.unfitted(t, d, o)
				whole.structure.allocate()
				rooted.structure.allocate()
				if err := whole.sumWhole(t.Context(), d, func(batch, []float64) {}); err != nil {
					t.Fatal(err)
				}
				r, err := rooted.newRooted()
				if err != nil {
					t.Fatal(err)
				}
				count := &countedRows{byRows: r.to}
				r.to = count
				if err := r.sum(t.Context(), d, func(batch, []float64) {}); err != nil {
					t.Fatal(err)
				}
				want, got := summed(t, whole), summed(t, rooted)
				what := label(dt, ", ", s, ", exact ", exact)
				for name, v := range want {
					if exact {
						fixture.Close(t, what+": "+name, got[name], v, tol)
					} else if e := fixture.RelErr(got[name], v); e > 10*thinned {
						t.Errorf("%s: %s: error %g", what, name, e)
					}
				}
				if exact && count.rows > n*c || !exact && (count.rows > n*c/2 || count.rows < keptRows) {
					t.Errorf("%s: %d rows", what, count.rows)
				}
			}
		}
	}
}

// summed are the arrays of a structure's sums by name.
func summed(t *testing.T, p *posterior) map[string][]float64 {
	all := map[string][]float64{}
	if err := p.structure.sums(func(name string, v *[]float64, _ ...int) error { all[name] = *v; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// The last layer's cotangents need no pass back and a perceptron's short ones, and numbers have no Λ.
func TestNotRooted(t *testing.T) {
	classes, numbers := sureClasses(t, tensor.Float64, 20, 3), newProblem(t, 1, tensor.Float64, 20, 3, 2)
	for what, c := range map[string]struct {
		p problem
		o options
	}{
		"last layer": {classes, options{Structure: kindKFAC, Weights: []string{layers.LastLayerWeights}, Likelihood: likelihood.Softmax{}}},
		"full":       {classes, options{Likelihood: likelihood.Softmax{}}},
		"perceptron": {newClasses(t, 1, tensor.Float64, 20, 3, 3), options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}}},
		"numbers":    {numbers, options{Structure: kindKFAC}},
	} {
		d, err := newData(c.p.x, c.p.y, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.p.unfitted(t, d, c.o).newRooted(); r != nil || err != nil {
			t.Errorf("%s: %v, error %v", what, r, err)
		}
	}
}

// A pass over twice as many batches allocates no more, whether H is summed up from rows or not.
func TestPassAllocatesNothing(t *testing.T) {
	for _, s := range []structureKind{kindKFAC, kindDiagonal} {
		p := sureClasses(t, tensor.Float32, 64, 3)
		checkAllocations(t, label("images, ", s), p, options{Structure: s, Likelihood: likelihood.Softmax{}, BatchSize: 4})
	}
	everyMember([]int{1, 3}, func(what string, o options, c int) {
		if o.Structure == kindLowRank {
			return // as Full
		}
		o.BatchSize, o.Space = 4, spaceWeights
		if o.Structure != kindFull {
			o.Space = spaceSmaller
		}
		p := problemFor(t, o, 31, tensor.Float64, 64, 4, c)
		checkAllocations(t, what, p, o)
	})
}

func checkAllocations(t *testing.T, what string, p problem, o options) {
	t.Helper()
	d, err := newData(p.x, p.y, o)
	if err != nil {
		t.Fatal(err)
	}
	q := p.unfitted(t, d, o)
	q.structure.allocate()
	r, err := q.newRooted()
	if err != nil {
		t.Fatal(err)
	}
	pass := func(n int) float64 {
		some := gp.Examples{X: dense.Rows(d.X, 0, n)}
		return testing.AllocsPerRun(5, func() {
			if r == nil {
				err = q.sumWhole(t.Context(), some, func(batch, []float64) {})
			} else {
				err = r.sum(t.Context(), some, func(batch, []float64) {})
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	pass(64)
	if few, many := pass(32), pass(64); many > few {
		t.Errorf("%s: %g allocations for 8 batches, %g for 16", what, few, many)
	}
}

// Sums over parts of the examples take rows as a sum over all examples does. Without the memory for
// rows whole Jacobians are summed up.
func TestRootedInParts(t *testing.T) {
	p := sureClasses(t, tensor.Float64, 3000, 4)
	o := options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}, PriorStd: 1}
	d, err := newData(p.x, p.y, o)
	if err != nil {
		t.Fatal(err)
	}
	fit := func(limit int64, parts int) []float64 {
		q := p.unfitted(t, d, o)
		q.limit = limit
		q.structure.allocate()
		for first := 0; first < d.N(); first += d.N() / parts {
			some := dense.Rows(d.X, first, first+d.N()/parts)
			if err := q.sum(t.Context(), gp.Examples{X: some}, func(batch, []float64) {}); err != nil {
				t.Fatal(err)
			}
		}
		if (q.rooted == nil) != (limit == 1) {
			t.Errorf("%d bytes: rows %v", limit, q.rooted != nil)
		}
		return summed(t, q)["conv1.weight.cotangent"]
	}
	whole, all := fit(1, 1), fit(1<<30, 1)
	fixture.Close(t, "parts", fit(1<<30, 3), all, 1e-9)
	if e := fixture.RelErr(all, whole); e > 10*thinned || e == 0 {
		t.Errorf("error %g", e)
	}
}
