package laplace

import (
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
)

// sentences is a network of five words, of which one table is used twice and another one once.
type sentences struct {
	layers.Dense
	twice, once *graph.Param
}

func newSentences(dt tensor.Dtype, outputs int) sentences {
	table := func(name string, seed uint64, shape ...int) *graph.Param {
		return graph.NewParam(name, small.Normal(newRand(seed), tensor.Float64, shape...).Float64s(), dt, shape...)
	}
	return sentences{layers.NewDense("last", 19, outputs, dt, newRand(2)), table("twice", 3, 9, 3), table("once", 4, 12, 2)}
}

func (n sentences) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	rows := x.Shape()[0]
	words := b.Mul(b.Embed(b.Param(n.twice), b.Slice(x, 1, 0, 3)), b.Embed(b.Param(n.twice), b.Slice(x, 1, 2, 5)))
	all := b.Concat(1, b.Reshape(words, rows, 9), b.Reshape(b.Embed(b.Param(n.once), x), rows, 10))
	return n.Dense.Forward(b, b.Tanh(all))
}

func (n sentences) Params() []*graph.Param {
	return append([]*graph.Param{n.twice, n.once}, n.Dense.Params()...)
}

// tokens draws n rows of five words, which come again and are counted from both ends.
func tokens(seed uint64, n int) *tensor.Dense {
	rng, v := newRand(seed), make([]float64, 5*n)
	for i := range v {
		v[i] = float64(rng.IntN(5)*3 - 7)
	}
	return dense.Of(v, n, 5)
}

// withWidest calls f with another bound of rows that are formed.
func withWidest(bound int, f func()) {
	defer func(before int) { widestRows = before }(widestRows)
	widestRows = bound
	f()
}

// TestTables: diagonals of tables of tokens, which the tokens of an example make, are those of whole rows, and KFAC keeps
// the same diagonals: of classes and of numbers, stored, and updated by more examples.
func TestTables(t *testing.T) {
	for name, lik := range map[string]likelihood.Likelihood{"classes": likelihood.Softmax{}, "numbers": nil} {
		t.Run(name, func(t *testing.T) {
			p := newClasses(t, 37, tensor.Float64, 12, 4, 3)
			p.net, p.x, p.probe = layers.Sequential{newSentences(tensor.Float64, 3)}, tokens(5, 12), tokens(6, 4)
			o := options{Likelihood: lik, PriorStd: 0.7, NoiseStd: 0.4, Structure: kindDiagonal, Exact: true}
			if lik != nil {
				o.NoiseStd = 0
			}
			var kept *posterior
			withWidest(1<<30, func() { newBrute(t, p, o).check(t, "whole rows", p.fit(t, o), 1e-9) })
			withWidest(1, func() {
				newBrute(t, p, o).check(t, "tokens", p.fit(t, o), 1e-9)
				o.Weights = []string{"twice", "once"}
				diagonal := p.fit(t, o)
				o.Structure = kindKFAC
				kept = p.fit(t, o)
				comparePosteriors(t, "KFAC", kept, diagonal, p.probe)
				sameUpdates(t, p, o, kept)
			})
			for i, steps := range []int{6, 5} {
				if k := kept.scan.blocks[i]; k.tokens == nil || k.tokens.Shape()[1] != steps {
					t.Errorf("block %d has the tokens %v, expected %d", i, k.tokens, steps)
				}
			}
		})
	}
}

// sameUpdates compares a posterior with one that was stored, and with one that was fitted to some rows and updated with the others.
func sameUpdates(t *testing.T, p problem, o options, q *posterior) {
	t.Helper()
	back, err := restore(t, p, store(t, q))
	if err != nil {
		t.Fatal(err)
	}
	comparePosteriors(t, "restored", back, q, p.probe)
	first := p
	rows := p.rowsFrom(o, tensor.Float64, 0, 7)
	first.x, first.y = rows.Train.X, rows.Train.Y
	u, err := first.fit(t, o).Update(t.Context(), p.rowsFrom(o, tensor.Float64, 7, 12), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	comparePosteriors(t, "updated", u.(*posterior), q, p.probe)
}

// TestTablesOfFloat32: the same in float32.
func TestTablesOfFloat32(t *testing.T) {
	p := newClasses(t, 37, tensor.Float64, 12, 4, 3)
	p.x, p.probe = tokens(5, 12), tokens(6, 4)
	o := options{Likelihood: likelihood.Softmax{}, PriorStd: 0.7, Structure: kindKFAC, Weights: []string{"twice", "once"}}
	withWidest(1, func() {
		p.net = layers.Sequential{newSentences(tensor.Float64, 3)}
		_, want := small.Moments(t, p.fit(t, o), p.probe)
		p.net = layers.Sequential{newSentences(tensor.Float32, 3)}
		_, got := small.Moments(t, p.fit(t, o), p.probe)
		fixture.Close(t, "covariances", got, want, 1e-5)
	})
}

// TestTableCost: with KFAC and its diagonal the work and the memory of a batch do not grow with the rows of a table.
func TestTableCost(t *testing.T) {
	for _, kind := range []structureKind{kindKFAC, kindDiagonal} {
		var flops, bytes []int
		for _, rows := range []int{1000, 30000} {
			net := sentences{layers.NewDense("last", 19, 2, tensor.Float32, newRand(2)), newSentences(tensor.Float32, 2).twice,
				graph.NewParam("once", make([]float64, 2*rows), tensor.Float32, rows, 2)}
			s, err := newScanner(net, tensor.Shape{5}, 2, 50, kind.keeping(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.compile(s.fitted()); err != nil {
				t.Fatal(err)
			}
			_, each := s.program.Flops()
			flops, bytes = append(flops, each), append(bytes, s.program.Bytes())
		}
		if flops[1] != flops[0] || bytes[1] != bytes[0] {
			t.Errorf("%s: %d and %d operations, %d and %d bytes", kind, flops[0], flops[1], bytes[0], bytes[1])
		}
	}
}
