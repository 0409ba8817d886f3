package train

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// images returns n images [n,1,4,4] and one-hot labels of two classes.
func images(seed uint64, n int) (x, y *tensor.Dense) {
	rng := rand.New(rand.NewPCG(seed, 3))
	x, y = tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, 1, 4, 4)), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, 2))
	for i := range n {
		sum := 0.0
		for k := range 16 {
			v := rng.NormFloat64() + 0.5
			x.Float64s()[i*16+k] = v
			sum += v * float64(k%3-1)
		}
		class := 0
		if sum > 0 {
			class = 1
		}
		y.Float64s()[i*2+class] = 1
	}
	return x, y
}

// normNet is a small convolutional network with batch norm.
func normNet(t *testing.T) layers.Sequential {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 5))
	return layers.Sequential{
		layers.NewConv2D("c", 1, 3, 3, 1, 1, tensor.Float64, rng), layers.NewBatchNorm("n", 3, tensor.Float64),
		layers.Activation("relu"), layers.GlobalAveragePool{}, layers.NewDense("d", 3, 2, tensor.Float64, rng),
	}
}

// TestBatchNormTraining: in training the outputs are normalised by the batch's own
// statistics, and after one step the running ones have moved a tenth of the way.
func TestBatchNormTraining(t *testing.T) {
	x, _ := images(1, 6)
	b := graph.NewBuilder(tensor.Float64)
	norm := layers.NewBatchNorm("n", 1, tensor.Float64)
	gamma, beta := norm.Scale()
	gamma.Set(0, 2)
	beta.Set(0, -1)
	in := b.Input("x", x.Shape()...)
	y, updates := layers.Training(b, norm, in)
	outputs := []*graph.Node{y}
	for _, u := range updates {
		outputs = append(outputs, u.Value)
	}
	p, err := graph.Compile(b, outputs, graph.Options{})
	if err == nil {
		err = p.Bind(in, x)
	}
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	mean, square, n := 0.0, 0.0, float64(x.Shape().TotalSize())
	for _, v := range x.Float64s() {
		mean += v / n
		square += v * v / n
	}
	variance := square - mean*mean
	for i, v := range x.Float64s() {
		want := 2*(v-mean)/math.Sqrt(variance+1e-5) - 1
		if got := p.Value(y).Float64s()[i]; math.Abs(got-want) > 1e-12 {
			t.Fatalf("output %d is %v, want %v", i, got, want)
		}
	}
	for i, want := range []float64{0.1 * mean, 0.9 + 0.1*variance*n/(n-1)} {
		if got := p.Value(updates[i].Value).Float64s()[0]; math.Abs(got-want) > 1e-12 {
			t.Errorf("%s becomes %v, want %v", updates[i].Param.Name, got, want)
		}
	}
}

// TestMAPKeepsStatistics: training moves the running statistics, they are in the
// checkpoint, and a run in two halves ends with the same arrays, bit for bit.
func TestMAPKeepsStatistics(t *testing.T) {
	x, y := images(2, 40)
	run := func(path string, iterations []int) []float64 {
		net := normNet(t)
		for _, n := range iterations {
			ctx, cancel := context.WithCancel(t.Context())
			m := MAP{Net: net, Loss: CrossEntropy, BatchSize: 10, Config: Config{
				Iterations: 12, Optimizer: &SGD{LR: 0.1, Momentum: 0.9, WeightDecay: 1e-2}, Schedule: Cosine(0),
				Checkpoint: path, Resume: path != "",
				OnStep: func(s Step) {
					if s.Iteration+1 == n {
						cancel()
					}
				},
			}}
			_, err := m.Train(ctx, Rows{x}, y)
			if interrupted := n < 12; interrupted != (err != nil) {
				t.Fatal(err)
			}
			cancel()
			if n < 12 { // what is not in the checkpoint is lost
				net = normNet(t)
			}
		}
		var all []float64
		for _, p := range layers.Arrays(net) {
			all = append(all, p.Floats()...)
		}
		return all
	}
	whole := run("", []int{12})
	halves := run(filepath.Join(t.TempDir(), "c"), []int{5, 12})
	if !slices.Equal(whole, halves) {
		t.Errorf("in one go %v, in two %v", whole, halves)
	}
	start := layers.State(normNet(t))
	if state := whole[len(whole)-6:]; state[0] == start[0].At(0) || state[3] == start[1].At(0) {
		t.Errorf("running statistics %v did not move", state)
	}
}

// TestParts: a mini-batch in parts has the loss and the gradients of the whole
// mini-batch.
func TestParts(t *testing.T) {
	x, y := images(3, 24)
	net := normNet(t)
	identities := map[string]bool{}
	evaluate := func(parts int) (float64, []float64) {
		b := graph.NewBuilder(tensor.Float64)
		batches, err := NewBatchesOf(b, Rows{x}, y, 12, parts, 7)
		if err != nil {
			t.Fatal(err)
		}
		g, err := NewGraph(b, CrossEntropy(b, batches.Y(), net.Forward(b, batches.X())), net.Params(), batches)
		if err != nil {
			t.Fatal(err)
		}
		identities[strings.Join(g.Identity(), ", ")] = true
		var loss float64
		for i := range 3 { // of the third mini-batch, which is in another epoch
			if loss, err = g.Evaluate(t.Context(), i); err != nil {
				t.Fatal(err)
			}
		}
		var grads []float64
		for _, p := range g.Params() {
			grads = append(grads, p.Grad.Float64s()...)
		}
		return loss, grads
	}
	want, wantGrads := evaluate(1)
	for _, parts := range []int{2, 3, 12} {
		loss, grads := evaluate(parts)
		if math.Abs(loss-want) > 1e-12 {
			t.Errorf("%d parts: loss %v, want %v", parts, loss, want)
		}
		for i := range grads {
			if math.Abs(grads[i]-wantGrads[i]) > 1e-12 {
				t.Fatalf("%d parts: gradient %d is %v, want %v", parts, i, grads[i], wantGrads[i])
			}
		}
	}
	if len(identities) != 4 { // rounding depends on the parts
		t.Errorf("identities %v, expected one for each number of parts", identities)
	}
	b := graph.NewBuilder(tensor.Float64)
	if _, err := NewBatchesOf(b, Rows{x}, y, 12, 5, 7); err == nil {
		t.Error("12 examples in 5 parts are accepted")
	}
	batches, err := NewBatchesOf(b, Rows{x}, y, 12, 2, 7)
	if err != nil {
		t.Fatal(err)
	}
	out, updates := layers.Training(b, net, batches.X())
	if _, err := NewGraph(b, CrossEntropy(b, batches.Y(), out), net.Params(), batches, updates...); err == nil {
		t.Error("batch statistics of half a mini-batch are accepted")
	}
}
