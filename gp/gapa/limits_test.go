package gapa

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// TestExact: with all training rows as neighbours the covariance is the covariance of the
// network's first-order expansion in activations that are conditioned on all rows at once: the
// Schur complement of their joint Gaussian, times the slopes found by differences.
func TestExact(t *testing.T) {
	for _, c := range []int{1, 3} {
		p := newProblem(t, tensor.Float64, 12, c, c > 1)
		for layer := 1; layer <= 2; layer++ {
			_, q := fitted(t, Settings{Options: Options{Layer: layer, Neighbours: 12, RelativeNoise: 1e-4, Factor: 1.7}}, p)
			_, cov := small.Moments(t, q, p.Validation.X)
			u, _ := valuesAt(t, q.site, data.TakeRows(p.Train.X, q.order))
			at, _ := valuesAt(t, q.site, p.Validation.X)
			slopes := bySlopes(t, q, at)
			var want []float64
			for i := range at.Shape()[0] {
				r := schur(t, u, row(at, i), q.memory.length, q.memory.noise)
				var full mat.Dense
				j := mat.NewDense(c, q.memory.d, slopes[i*c*q.memory.d:(i+1)*c*q.memory.d])
				full.Product(j, mat.NewDiagDense(q.memory.d, q.scales), j.T())
				full.Scale(1.7*r, &full)
				want = append(want, full.RawMatrix().Data...)
			}
			fixture.Close(t, fmt.Sprint("outputs ", c, ", layer ", layer), cov, want, 1e-7)
		}
	}
}

func row(t *tensor.Dense, i int) []float64 {
	v := make([]float64, t.Shape()[1])
	dense.Copy(v, t, i*len(v))
	return v
}

// schur is the conditional variance of a process at u, given its values with noise at rows
// of z.
func schur(t *testing.T, z *tensor.Dense, u []float64, length, noise float64) float64 {
	t.Helper()
	n, d := z.Shape()[0], z.Shape()[1]
	at := func(i int) []float64 {
		if i == n {
			return u
		}
		return z.Float64s()[i*d : (i+1)*d]
	}
	joint := mat.NewDense(n+1, n+1, nil)
	for i := range n + 1 {
		for j := range n + 1 {
			away := 0.0
			for k, v := range at(i) {
				away += (v - at(j)[k]) * (v - at(j)[k])
			}
			joint.Set(i, j, math.Exp(-away/(2*length*length)))
		}
		if i < n {
			joint.Set(i, i, 1+noise)
		}
	}
	var x mat.Dense
	cross := joint.Slice(0, n, n, n+1)
	if err := x.Solve(joint.Slice(0, n, 0, n), cross); err != nil {
		t.Fatal(err)
	}
	var taken mat.Dense
	taken.Mul(cross.T(), &x)
	return 1 - taken.At(0, 0)
}

// bySlopes are the derivatives of the outputs by the activations, [N,C,d], by central
// differences at values u [N,d].
func bySlopes(t *testing.T, p *posterior, u *tensor.Dense) (out []float64) {
	t.Helper()
	n, d := u.Shape()[0], u.Shape()[1]
	rest := func(shift []float64) []float64 {
		b := graph.NewBuilder(tensor.Float64)
		a := b.AddBias(p.site.phi.Forward(b, small.Given(b, "u", u)), b.Const("shift", shift, d))
		prog, err := graph.Compile(b, []*graph.Node{p.site.after.Forward(b, a)}, graph.Options{})
		if err == nil {
			err = prog.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		return graph.Floats(prog.Value(p.site.after.Forward(b, a)))
	}
	const step = 1e-5
	columns := make([][]float64, d)
	for j := range d {
		up, down := make([]float64, d), make([]float64, d)
		up[j], down[j] = step, -step
		columns[j] = rest(up)
		for i, v := range rest(down) {
			columns[j][i] = (columns[j][i] - v) / (2 * step)
		}
	}
	for i := range n * (len(columns[0]) / n) {
		for j := range d {
			out = append(out, columns[j][i])
		}
	}
	return out
}

// points are M random rows of d numbers, as a memory of the k nearest.
func points(rng *rand.Rand, dt tensor.Dtype, m, d, k int) *memory {
	return &memory{index: newIndex(small.Normal(rng, dt, m, d)), neighbours: k, length: 1.3, noise: 1e-8}
}

func remaining(t *testing.T, m *memory, u *tensor.Dense, skip func(int) int) []float64 {
	t.Helper()
	r, err := m.remaining(u, u.Shape()[0], skip)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRemaining: r is 0 at the rows and 1 far away, does not grow with the number of
// neighbours, and for one neighbour has a closed form.
func TestRemaining(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m, u := points(rng, tensor.Float64, 40, 3, 40), small.Normal(rng, tensor.Float64, 15, 3)
	for i, r := range remaining(t, m, m.z, none) {
		if r > 1e-7 {
			t.Errorf("r is %g at row %d", r, i)
		}
	}
	far := u.Clone().(*tensor.Dense)
	for _, away := range []float64{100, 1e4, 1e9, 1e150} {
		for i := range far.Float64s() {
			far.Float64s()[i] += away
		}
		for i, r := range remaining(t, m, far, none) {
			if r != 1 {
				t.Errorf("r is %g %g away, input %d", r, away, i)
			}
		}
	}
	last := remaining(t, m, u, none)
	for _, k := range []int{20, 7, 2, 1} {
		m.neighbours = k
		now, wider := remaining(t, m, u, none), false
		for i, r := range now {
			if r < last[i]-1e-9 {
				t.Errorf("input %d: r %g with %d neighbours, %g with more", i, r, k, last[i])
			}
			wider = wider || r > last[i]+1e-3
		}
		if !wider {
			t.Errorf("%d neighbours know as much as more: the test shows nothing", k)
		}
		last = now
	}
	want := make([]float64, len(last))
	m.search(2, u, len(last), 1, none, func(_, i int, found []neighbour) {
		want[i] = 1 - math.Exp(-found[0].away/(m.length*m.length))/(1+m.noise)
	})
	fixture.Close(t, "one neighbour", last, want, 1e-12)
}

// TestLeftOut: a row that is left out has the r that it would have if it were not kept.
func TestLeftOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 2))
	m := points(rng, tensor.Float64, 30, 3, 8)
	got, want := remaining(t, m, m.z, func(i int) int { return i }), make([]float64, 30)
	for i := range want {
		rest := append(dense.Indices(i), dense.Indices(30)[i+1:]...)
		other := &memory{index: newIndex(data.TakeRows(m.z, rest)), neighbours: 8, length: m.length, noise: m.noise}
		want[i] = remaining(t, other, data.TakeRows(m.z, []int{i}), none)[0]
	}
	fixture.Close(t, "r", got, want, 1e-10)
}

// TestCentres: an input is conditioned on the rows nearest to its nearest centre, without
// the row that is left out. Where a centre has all rows, the input is conditioned on all rows.
func TestCentres(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	m, u := points(rng, tensor.Float64, 30, 3, 9), small.Normal(rng, tensor.Float64, 12, 3)
	m.noise = 1e-5
	all := *m
	all.neighbours = 30
	exact := remaining(t, &all, u, none)
	if err := all.group(4); err != nil {
		t.Fatal(err)
	}
	fixture.Close(t, "all rows", remaining(t, &all, u, none), exact, 1e-9)

	if err := m.group(4); err != nil {
		t.Fatal(err)
	}
	for _, skip := range []func(int) int{none, func(i int) int { return i }} {
		got, want := remaining(t, m, u, skip), make([]float64, 12)
		for i := range want {
			var near []neighbour
			m.centres.search(2, data.TakeRows(u, []int{i}), 1, 1, none, func(_, _ int, found []neighbour) { near = m.centres.groups[found[0].at].rows })
			var rows []int
			for _, p := range near {
				if p.at != skip(i) {
					rows = append(rows, p.at)
				}
			}
			want[i] = schur(t, data.TakeRows(m.z, rows), row(u, i), m.length, m.noise)
		}
		fixture.Close(t, "r", got, want, 1e-9)
	}
}

// TestSearch: the search finds the nearest of many points that a comparison of all distances finds,
// in both element types and where many are equal.
func TestSearch(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		rng := rand.New(rand.NewPCG(4, 4))
		z, u := small.Normal(rng, tensor.Float64, 5000, 2), small.Normal(rng, tensor.Float64, 70, 2)
		for _, v := range [][]float64{z.Float64s(), u.Float64s()} {
			for i := range v {
				v[i] = math.Round(8*v[i]) / 8 // many are equal
			}
		}
		x, v := newIndex(graph.Convert(z, dt)), graph.Convert(u, dt)
		got, want := make([]float64, 70*20), make([]float64, 70*20)
		x.search(2, v, 70, 20, func(i int) int { return i }, func(_, i int, found []neighbour) {
			for j, p := range found {
				got[i*20+j] = p.away
				if p.at == i {
					t.Errorf("point %d found itself", i)
				}
			}
		})
		for i := range 70 {
			var all []float64
			for j := range 5000 {
				if a, b := row(z, j), row(u, i); j != i {
					all = append(all, (a[0]-b[0])*(a[0]-b[0])+(a[1]-b[1])*(a[1]-b[1]))
				}
			}
			quantile(all, 0)
			copy(want[i*20:(i+1)*20], all)
		}
		fixture.Close(t, dt.String(), got, want, 1e-12)
	}
}

// TestSmallNoise: for small variances the covariance is the covariance of the outputs when
// the activations scatter.
func TestSmallNoise(t *testing.T) {
	p := newProblem(t, tensor.Float64, 15, 2, false)
	const factor = 1e-4
	_, q := fitted(t, Settings{Options: Options{Layer: 1, Factor: factor, Scales: scalesSpread}, NoiseStd: 1}, p)
	x := data.TakeRows(p.Validation.X, []int{3})
	mean, cov := small.Moments(t, q, x)
	u, _ := valuesAt(t, q.site, x)
	r, rng := remaining(t, q.memory, u, none)[0], rand.New(rand.NewPCG(1, 1))
	const n = 40_000
	noise := make([]float64, n*q.memory.d)
	for i := range noise {
		noise[i] = math.Sqrt(factor*r*q.scales[i%q.memory.d]) * rng.NormFloat64()
	}
	b := graph.NewBuilder(tensor.Float64)
	a := b.Add(q.site.phi.Forward(b, small.Given(b, "u", u)), b.Const("noise", noise, n, q.memory.d))
	out := layers.Sequential(q.site.after).Forward(b, a)
	prog, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
	if err == nil {
		err = prog.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float64, 4)
	for i, v := 0, graph.Floats(prog.Value(out)); i < len(v); i += 2 {
		for j := range 4 {
			got[j] += (v[i+j/2] - mean[j/2]) * (v[i+j%2] - mean[j%2]) / n
		}
	}
	fixture.Close(t, "covariance", got, cov, 0.03)
}
