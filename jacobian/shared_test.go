package jacobian_test

import (
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// averaged ends like a residual network: its last convolution has 4 channels, of whose places averages
// are taken. The same filters may be used by an earlier convolution, too.
func averaged(twice bool) func(m *maker) formula {
	return func(m *maker) formula {
		image := layers.Images{Channels: 4, Height: 4, Width: 4}.Forward
		last, norm := m.conv("last", 4, 4, 3, 1, 1), m.norm("norm", 4)
		first := last
		if !twice {
			first = m.conv("first", 4, 4, 3, 1, 1)
		}
		end := func(b *builder, x *node) *node {
			return b.GlobalAveragePool(b.Tanh(b.Add(norm.Forward(b, last.Forward(b, x)), x)))
		}
		return chain(m.dense("in", inputs, 64), image, first.Forward, (*builder).Tanh, end, m.dense("out", 4, m.outputs))
	}
}

// TestSharedRows: of the filters of a last convolution one row is formed for each example. The
// kernels are the kernels of dense rows.
func TestSharedRows(t *testing.T) {
	for _, twice := range []bool{false, true} {
		p := newProblem(averaged(twice), tensor.Float64, 3, 5, 6)
		want, got := p.everything(t, dense).run(t), p.everything(t, factored).run(t)
		for i, what := range []string{"Diag", "Cross", "Gram", "sum", "gradient"} {
			near(t, what, got[i], want[i], 1e-12)
		}
		p.checkCombined(t, factored, 2)
		b := graph.NewBuilder(p.dt)
		k := jacobian.NTK{Net: p.net}
		x, z := b.Param(p.x), b.Param(p.z)
		formed, most := map[bool]int{}, 1 // by whether there is one for each output
		if twice {
			most = 2
		}
		for i, n := range []*node{k.Variances(b, x), k.Diag(b, x), k.Cross(b, x, z, p.class)} {
			clear(formed)
			for _, a := range graph.Ancestors(n) {
				if _, rows := graph.FilterRows(a); rows && a.Dims() == 5 {
					formed[a.Shape()[0] == 3*6]++
				}
			}
			if formed[true] > most || formed[false] == 0 {
				t.Errorf("twice %t, kernel %d: rows are formed %v times, expected those of one convolution for each output", twice, i, formed)
			}
		}
	}
}
