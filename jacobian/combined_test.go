package jacobian_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"
)

// TestCombined: for random networks and random combinations the kernel of combinations is the
// combination of the kernel, and so is its gradient with respect to z, by both algorithms.
func TestCombined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, batch, each := rapid.IntRange(1, 4).Draw(t, "outputs"), rapid.IntRange(1, 3).Draw(t, "batch"), rapid.IntRange(1, 3).Draw(t, "combinations")
		p := newProblem(func(*maker) formula { return nil }, tensor.Float64, batch, 3, c)
		p.net = drawNetwork(t, c)
		for _, alg := range []bool{factored, dense} {
			p.checkCombined(t, alg, each)
		}
	})
}

// checkCombined compares the kernel of random combinations with sums over the outputs.
func (p *problem) checkCombined(t rapid.TB, alg bool, each int) {
	t.Helper()
	rng, b := rand.New(rand.NewPCG(7, 7)), graph.NewBuilder(p.dt)
	batch, m := p.x.Value.Shape()[0], len(p.class)
	x, z, all := b.Param(p.x), b.Param(p.z), jacobian.NTK{Net: p.net, Dense: alg}
	seeds := b.Const("seeds", fixture.Normal(rng, batch*each*p.c), batch, each, p.c)
	weights := b.Const("weights", fixture.Normal(rng, batch*each*m), batch, each, m)
	k := all.Combined(seeds)
	cross, diag := k.Cross(b, x, z, p.class), k.Diag(b, x)
	wantCross := b.MatMul(seeds, all.Cross(b, x, z, p.class), false, false)
	wantDiag := b.MatMul(b.MatMul(seeds, all.Diag(b, x), false, false), seeds, false, true)
	pull := func(n *node) *node { return graph.VJP(b, []*node{n}, []*node{weights}, []*node{z})[0] }
	got := compile(t, b, cross, diag, k.Variances(b, x), pull(cross), k.Gram(b, z, p.class), k.Rows(b, x)[0]).run(t)
	want := compile(t, b, wantCross, wantDiag, b.Diag(wantDiag), pull(wantCross), all.Gram(b, z, p.class), p.combinedRows(b, seeds, all)).run(t)
	for i, what := range []string{"Cross", "Diag", "Variances", "gradient of Cross", "Gram", "Rows"} {
		near(t, fmt.Sprint(what, " of combinations, algorithm ", alg), got[i], want[i], 1e-10)
	}
}

// combinedRows are the combinations of the Jacobian's rows of the first parameter.
func (p *problem) combinedRows(b *builder, seeds *node, of jacobian.NTK) *node {
	s, rows := seeds.Shape(), of.Rows(b, b.Param(p.x))[0]
	wide := b.MatMul(seeds, b.Reshape(rows, s[0], s[2], rows.Shape()[1]), false, false)
	return b.Reshape(wide, s[0]*s[1], rows.Shape()[1])
}

// TestCombinedErrors: combinations of another number of outputs or examples are refused.
func TestCombinedErrors(t *testing.T) {
	p := newProblem(func(m *maker) formula { return m.dense("a", inputs, 3) }, tensor.Float64, 2, 2, 3)
	for _, shape := range [][]int{{2, 3}, {1, 2, 3}, {2, 2, 4}} {
		b := graph.NewBuilder(p.dt)
		jacobian.NTK{Net: p.net}.Combined(b.Fill(1, shape...)).Variances(b, b.Param(p.x))
		if err := b.Err(); err == nil || !strings.Contains(err.Error(), "expected [2,K,3]") {
			t.Errorf("shape %v: error %v, expected one that names [2,K,3]", shape, err)
		}
	}
}
