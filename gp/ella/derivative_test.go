package ella

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// run computes a node that f writes for inputs x.
func run(t *testing.T, x *tensor.Dense, f func(b *graph.Builder, x *graph.Node) *graph.Node) []float64 {
	t.Helper()
	b := graph.NewBuilder(x.Dtype())
	out := f(b, b.Param(&graph.Param{Name: "x", Value: x}))
	p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return graph.Floats(p.Value(out))
}

// TestAlong: forward and reverse passes give J(x) v, for one direction, for fewer directions
// than outputs and for more.
func TestAlong(t *testing.T) {
	for _, p := range problems(t) {
		n, c, size := p.Probe.Shape()[0], p.Outputs(), width(p.Net)
		j := jacobianOf(t, p.Net, p.Probe)
		for _, k := range []int{1, c, c + 4} {
			v := normal(rand.New(rand.NewPCG(uint64(k), 2)), p.Dtype(), k, size)
			want := product(n*c, k, size, j, graph.Floats(v))
			for name, way := range map[string]func(b *graph.Builder, x, out *graph.Node) *graph.Node{
				"along":     func(b *graph.Builder, x, out *graph.Node) *graph.Node { return along(b, p.Net, x, out, v) },
				"byForward": func(b *graph.Builder, _, out *graph.Node) *graph.Node { return byForward(b, p.Net, out, v) },
				"byReverse": func(b *graph.Builder, x, out *graph.Node) *graph.Node { return byReverse(b, p.Net, x, out, v) },
			} {
				got := run(t, p.Probe, func(b *graph.Builder, x *graph.Node) *graph.Node { return way(b, x, p.Net.Forward(b, x)) })
				fixture.Close(t, fmt.Sprint(p.Name, ", ", k, " directions, ", name), got, want, tolerance(p.Dtype()))
			}
		}
	}
}

// TestAlongUnusedParameters: parameters on which the outputs do not depend count as zeros,
// and a network without any other as zero in all.
func TestAlongUnusedParameters(t *testing.T) {
	p := newProblem(t, 1, tensor.Float64, 5, 3, 2, false)
	size := width(p.Net)
	idle := withIdle{p.Net, graph.NewParam("idle", []float64{1, 2, 3}, tensor.Float64, 3)}
	v := normal(rand.New(rand.NewPCG(1, 2)), tensor.Float64, 4, 3+size)
	var used []float64
	for k := range 4 {
		used = append(used, v.Float64s()[k*(3+size)+3:(k+1)*(3+size)]...)
	}
	want := product(10, 4, size, jacobianOf(t, p.Net, p.Train.X), used)
	got := run(t, p.Train.X, func(b *graph.Builder, x *graph.Node) *graph.Node {
		return byReverse(b, idle, x, idle.Forward(b, x), v)
	})
	fixture.Close(t, "with an idle parameter", got, want, 1e-12)
}

// withIdle is a network with one more parameter, the first, which it does not use.
type withIdle struct {
	layers.Network
	idle *graph.Param
}

func (w withIdle) Params() []*graph.Param {
	return append([]*graph.Param{w.idle}, w.Network.Params()...)
}

// TestTimes: outer products times v whichever factor has a row for each output, and where
// neither or both do.
func TestTimes(t *testing.T) {
	const n, c, k, l, r = 3, 2, 4, 5, 2
	rng := rand.New(rand.NewPCG(4, 4))
	v := normal(rng, tensor.Float64, k, l*r)
	for _, rows := range [][2]int{{n, n * c}, {n * c, n}, {n, n}, {n * c, n * c}} {
		left, right := normal(rng, tensor.Float64, rows[0], l), normal(rng, tensor.Float64, rows[1], r)
		per := max(rows[0], rows[1]) / n
		want := make([]float64, n*per*k)
		for i := range n * per {
			for d := range k {
				for a := range l {
					for e := range r {
						want[i*k+d] += left.Float64s()[i*rows[0]/(n*per)*l+a] * right.Float64s()[i*rows[1]/(n*per)*r+e] * v.Float64s()[d*l*r+a*r+e]
					}
				}
			}
		}
		got := run(t, v, func(b *graph.Builder, x *graph.Node) *graph.Node {
			u := graph.Outer{Left: b.Param(&graph.Param{Name: "left", Value: left}), Right: b.Param(&graph.Param{Name: "right", Value: right})}
			return times(b, u, x, n)
		})
		fixture.Close(t, fmt.Sprint("rows ", rows), got, want, 1e-13)
	}
}
