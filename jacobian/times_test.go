package jacobian

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"gorgonia.org/tensor"
)

// TestTimes: outer products times v whichever factor has a row for each output, and where
// neither or both do.
func TestTimes(t *testing.T) {
	const n, c, k, l, r = 3, 2, 4, 5, 2
	rng := rand.New(rand.NewPCG(4, 4))
	normal := func(name string, rows, cols int) *graph.Param {
		v := make([]float64, rows*cols)
		for i := range v {
			v[i] = rng.NormFloat64()
		}
		return graph.NewParam(name, v, tensor.Float64, rows, cols)
	}
	v := normal("v", k, l*r)
	for _, rows := range [][2]int{{n, n * c}, {n * c, n}, {n, n}, {n * c, n * c}} {
		left, right := normal("left", rows[0], l), normal("right", rows[1], r)
		per := max(rows[0], rows[1]) / n
		want := make([]float64, n*per*k)
		for i := range n * per {
			for d := range k {
				for a := range l {
					for e := range r {
						want[i*k+d] += left.At(i*rows[0]/(n*per)*l+a) * right.At(i*rows[1]/(n*per)*r+e) * v.At(d*l*r+a*r+e)
					}
				}
			}
		}
		b := graph.NewBuilder(tensor.Float64)
		out := times(b, graph.Outer{Left: b.Param(left), Right: b.Param(right)}, b.Param(v), n)
		p, err := graph.Compile(b, []*graph.Node{out}, graph.Options{})
		if err == nil {
			err = p.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, fmt.Sprint("rows ", rows), graph.Floats(p.Value(out)), want, 1e-13)
	}
}
