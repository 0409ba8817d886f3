package valla_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/jacobian"
)

// inducingCase is a network with its rows.
type inducingCase struct {
	name    string
	rows    int // of training; the test rows are as many, if there are as many
	points  int
	classes bool
}

// rowsFor draws rows for a network of the gallery: words or categories at random, and their targets. For the table kin8nm
// they are those of its split 0.
func (c inducingCase) rowsFor(t *testing.T) (train, test *data.Set, form string) {
	t.Helper()
	if c.name == "kin8nm" {
		train, test, err := data.UCI(filepath.Join("..", "shared", "data", "uci", "kin8nm.npz"), 0)
		if err != nil {
			t.Skip(err)
		}
		return train.Rows(dense.Indices(c.rows)), test.Rows(dense.Indices(min(c.rows, test.N()))), ""
	}
	path := filepath.Join("layers", "onnx", "testdata", "gallery", c.name+".onnx")
	file, err := valla.WeightOptions{Classes: c.classes}.Describe(path)
	if err != nil {
		t.Fatal(err)
	}
	rng, width, n := rand.New(rand.NewPCG(11, 1)), file.InputShape()[0], 2*c.rows
	var x []float64
	for range n {
		x = append(x, c.example(width, rng)...)
	}
	set := &data.Set{X: tensor.New(tensor.WithShape(n, width), tensor.WithBacking(x))}
	c.targets(set, rng)
	return set.Rows(dense.Indices(c.rows)), set.Rows(dense.UpTo(c.rows, c.rows)), path
}

// example draws the inputs of a row.
func (c inducingCase) example(width int, rng *rand.Rand) (x []float64) {
	if c.name == "embeddings" {
		for range 4 {
			x = append(x, rng.NormFloat64())
		}
		return append(x, float64(rng.IntN(7)), float64(rng.IntN(10)))
	}
	length := width
	if c.name == "text" {
		length -= rng.IntN(width - 1)
	}
	x = make([]float64, width)
	for i := range length {
		x[i] = float64(1 + rng.IntN(19))
	}
	return x
}

// targets draws the targets of a set: effects of categories and a product, or the class of a text by the mean of the scores
// of its words.
func (c inducingCase) targets(set *data.Set, rng *rand.Rand) {
	width := set.X.Shape()[1]
	effects := make([]float64, 200)
	for i := range effects {
		effects[i] = rng.NormFloat64()
	}
	var y []float64
	for x := range slices.Chunk(set.X.Float64s(), width) {
		switch c.name {
		case "embeddings":
			day, shop := int(x[4]), int(x[5])
			y = append(y, math.Sin(2*x[0])+effects[day]*x[1]+effects[10+shop]+0.3*rng.NormFloat64())
		case "text":
			score, length := 0.0, 0.0
			for _, word := range x {
				score, length = score+effects[int(word)], length+min(1, word)
			}
			y = append(y, 0)
			if 4*(score-effects[0]*(float64(width)-length))/length > math.Log(1/rng.Float64()-1) {
				y[len(y)-1] = 1
			}
		}
	}
	set.Targets = []string{"y"}
	set.Y = tensor.New(tensor.WithShape(set.N(), 1), tensor.WithBacking(y))
}

// jacobianOf returns the rows of the Jacobian of all outputs at x, [N·C,P].
func jacobianOf(t *testing.T, m *valla.Model, x *tensor.Dense) *mat.Dense {
	t.Helper()
	var all []float64
	n, width := x.Shape()[0], 0
	for from := 0; from < n; from += 50 {
		part := data.TakeRows(x, dense.UpTo(from, min(50, n-from)))
		b := graph.NewBuilder(tensor.Float64)
		values, err := graph.Evaluate(b, jacobian.NTK{Net: m.Net}.Rows(b, b.Const("x", data.Float64s(part), part.Shape()...))...)
		if err != nil {
			t.Fatal(err)
		}
		rows := part.Shape()[0] * m.Task.Size()
		width = 0
		for _, v := range values {
			width += len(v) / rows
		}
		for i := range rows {
			for _, v := range values {
				w := len(v) / rows
				all = append(all, v[i*w:(i+1)*w]...)
			}
		}
	}
	return mat.NewDense(len(all)/width, width, all)
}

// chooserOf trains the network of a case and returns the chooser of its rows, with the prior variance 1. The candidates are
// all training rows, each with one of the outputs.
func (c inducingCase) chooserOf(t *testing.T) *chooser {
	t.Helper()
	train, test, form := c.rowsFor(t)
	o := valla.TrainOptions{Classes: c.classes, Training: valla.Training{Iterations: 3000}}
	o.Network.Form = form
	m, err := valla.Train(t.Context(), train, o)
	if err != nil {
		t.Fatal(err)
	}
	out := &chooser{seen: c.rows, each: m.Task.Size()}
	rows, f, y := linear(t, m, train)
	unseen, g, z := linear(t, m, test)
	out.own = mat.NewDense(c.rows, rows.RawMatrix().Cols, nil)
	for i := range c.rows {
		out.own.SetRow(i, rows.RawRowView(i*out.each+i%out.each))
	}
	if c.classes {
		rows, unseen, out.each = differences(rows), differences(unseen), 1
		out.classes(f, g, z)
	} else {
		out.numbers(f, y, g, z)
	}
	out.kernels(rows, unseen)
	return out
}

// linear returns the Jacobian of all outputs at the rows of a set [N·C,P], the outputs and the targets, as the network has
// them.
func linear(t *testing.T, m *valla.Model, set *data.Set) (j *mat.Dense, f, y []float64) {
	t.Helper()
	e, err := m.Task.Examples(set, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	out, err := gp.Point{Net: m.Net, Dtype: tensor.Float64}.Mean(t.Context(), e.X)
	if err != nil {
		t.Fatal(err)
	}
	return jacobianOf(t, m, e.X), out.Float64s(), e.Y.Float64s()
}

// differences returns the second row of each pair minus the first.
func differences(j *mat.Dense) *mat.Dense {
	n, p := j.Dims()
	out := mat.NewDense(n/2, p, nil)
	for i := range n / 2 {
		row := out.RawRowView(i)
		floats.SubTo(row, j.RawRowView(2*i+1), j.RawRowView(2*i))
	}
	return out
}

// classes sets weights and scores for logits f [N,2] and g [V,2], and classes y [V,2] of the test rows.
func (c *chooser) classes(f, g, y []float64) {
	for i := range len(f) / 2 {
		p := 1 / (1 + math.Exp(f[2*i]-f[2*i+1]))
		c.weight = append(c.weight, p*(1-p))
	}
	c.score = func(v int, variance float64) float64 {
		d := (g[2*v+1] - g[2*v]) / math.Sqrt(1+math.Pi*variance/8)
		return math.Log1p(math.Exp((1 - 2*y[2*v+1]) * d))
	}
}

// numbers sets weights and scores for outputs f and g and targets y and z of the training and the test rows.
func (c *chooser) numbers(f, y, g, z []float64) {
	noise := math.Pow(floats.Distance(f, y, 2), 2) / float64(len(y))
	c.weight = slices.Repeat([]float64{1 / noise}, len(y))
	c.score = func(v int, variance float64) float64 {
		total := noise + variance
		return (math.Log(2*math.Pi*total) + (z[v]-g[v])*(z[v]-g[v])/total) / 2
	}
}

// kernels computes the kernels of the Jacobians of the unknowns.
func (c *chooser) kernels(rows, unseen *mat.Dense) {
	product := func(a, b *mat.Dense) *mat.Dense {
		var out mat.Dense
		out.Mul(a, b.T())
		return &out
	}
	squares := func(j *mat.Dense) (out []float64) {
		n, _ := j.Dims()
		for i := range n {
			out = append(out, floats.Dot(j.RawRowView(i), j.RawRowView(i)))
		}
		return out
	}
	c.cross, c.gram, c.test = product(rows, c.own), product(c.own, c.own), product(unseen, c.own)
	c.diag, c.prior = squares(rows), squares(unseen)
}

// scaled returns c with the kernel times s.
func (c *chooser) scaled(s float64) *chooser {
	out := *c
	times := func(k *mat.Dense) *mat.Dense {
		var scaled mat.Dense
		scaled.Scale(s, k)
		return &scaled
	}
	out.cross, out.gram, out.test = times(c.cross), times(c.gram), times(c.test)
	out.diag, out.prior = floats.ScaleTo(make([]float64, len(c.diag)), s, c.diag), floats.ScaleTo(make([]float64, len(c.prior)), s, c.prior)
	return &out
}

// tuned returns c with the prior variance with which rows predict the first half of the test rows best.
func (c *chooser) tuned(rows []int) *chooser {
	best, least := (*chooser)(nil), math.Inf(1)
	for k := -24; k <= 8; k++ {
		s := c.scaled(math.Pow(10, float64(k)/4))
		nll := s.judge(rows).nll
		if mean := floats.Sum(nll[:len(nll)/2]); mean < least {
			best, least = s, mean
		}
	}
	return best
}

// TestInducingRows prints a table of other choices of inducing rows, see docs/gallery.md, for networks of tokens and
// categories, and for kin8nm with inducing inputs that stay.
func TestInducingRows(t *testing.T) {
	if !fixture.Long() {
		t.Skip("set VALLA_LONG=1")
	}
	for _, c := range []inducingCase{{"embeddings", 1000, 40, false}, {"text", 1000, 40, true}, {"kin8nm", 1000, 40, false}} {
		c.compare(c.chooserOf(t))
	}
}

// compare prints the lines of a case.
func (c inducingCase) compare(all *chooser) {
	m := c.points
	greedy := all.greedy(2*m, nil, nil) // whatever the prior variance
	at := all.tuned(greedy[:m])
	base := at.judge(greedy[:m])
	line := func(name string, choices ...[]int) {
		loss, nll := 0.0, make([]float64, len(base.nll))
		for _, rows := range choices {
			loss += at.loss(rows) / float64(len(choices))
			floats.AddScaled(nll, 1/float64(len(choices)), all.tuned(rows).judge(rows).nll)
		}
		difference, se := pairedHalf(nll, base.nll)
		mean, _ := pairedHalf(nll, make([]float64, len(nll)))
		fmt.Printf("| `%s` | %s | %.4f | %.4f | %+.4f ± %.4f |\n", c.name, name, loss, mean, difference, se)
	}
	var random, spread [][]int
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 3))
		random, spread = append(random, rng.Perm(c.rows)[:m]), append(spread, at.spread(m, rng))
	}
	alone, _ := pairedHalf(all.alone(), make([]float64, len(base.nll)))
	fmt.Printf("| `%s` | the network alone | | %.4f | |\n", c.name, alone)
	line("greedy", greedy[:m])
	line("random, 3 seeds", random...)
	line("k-means in the kernel, 3 seeds", spread...)
	exchanged, kept := at.exchange(greedy[:m], 500, rand.New(rand.NewPCG(5, 3)))
	line(fmt.Sprintf("greedy, then 500 exchanges, %d kept", kept), exchanged)
	line("greedy by the variance of all candidates", at.greedy(m, at.gram, slices.Repeat([]float64{1}, c.rows)))
	line("greedy by the weighted variance of all rows", at.greedy(m, at.cross, at.weight))
	for _, more := range []int{6 * m / 5, 3 * m / 2, 2 * m} {
		line(fmt.Sprintf("greedy, %d points", more), greedy[:more])
	}
}

// alone returns the scores of the test rows by the network alone.
func (c *chooser) alone() []float64 {
	out := make([]float64, len(c.prior)/c.each)
	for i := range c.prior {
		out[i/c.each] += c.score(i, 0) / float64(c.each)
	}
	return out
}

// pairedHalf returns the mean difference of the second halves of two scores and its standard error.
func pairedHalf(a, b []float64) (mean, se float64) {
	half := len(a) / 2
	d := floats.SubTo(make([]float64, len(a)-half), a[half:], b[half:])
	mean = floats.Sum(d) / float64(len(d))
	for _, v := range d {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se) / float64(len(d))
}
