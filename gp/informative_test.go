package gp_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// classes is a problem of c classes for a perceptron of three layers.
func classes(t *testing.T, n, c int) gp.Problem {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(c)))
	net, err := layers.MLP{Inputs: 2, Hidden: []int{6, 5}, Outputs: c, Activation: "tanh"}.New(tensor.Float64, rng)
	if err != nil {
		t.Fatal(err)
	}
	x, y := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, 2)), tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(n, c))
	for i := range n {
		x.Float64s()[2*i], x.Float64s()[2*i+1] = rng.NormFloat64(), rng.NormFloat64()
		y.Float64s()[i*c+i%c] = 1
	}
	return gp.Problem{Net: net, Likelihood: likelihood.Softmax{}, Train: gp.Examples{X: x, Y: y}}
}

// traces are the means over the rows of tr JᵀΛJ by parameter, from whole Jacobians.
func traces(t *testing.T, p gp.Problem) map[string]float64 {
	t.Helper()
	b := graph.NewBuilder(tensor.Float64)
	x := b.Param(&graph.Param{Name: "x", Value: p.Train.X})
	nodes := append([]*graph.Node{p.Net.Forward(b, x)}, jacobian.NTK{Net: p.Net, Dense: true}.Rows(b, x)...)
	program, err := graph.Compile(b, nodes, graph.Options{})
	if err == nil {
		err = program.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	n, c := p.Train.N(), p.Outputs()
	f, lambda, out := graph.Floats(program.Value(nodes[0])), make([]float64, c*c), map[string]float64{}
	for k, q := range p.Net.Params() {
		j, size := graph.Floats(program.Value(nodes[1+k])), q.Value.Size()
		for i := range n {
			p.Likelihood.Curvature(lambda, f[i*c:(i+1)*c])
			for e := range c * c {
				for l := range size {
					out[q.Name] += lambda[e] * j[(i*c+e/c)*size+l] * j[(i*c+e%c)*size+l] / float64(n)
				}
			}
		}
	}
	return out
}

// TestInformation compares the traces with the traces of whole Jacobians: up to four outputs
// exactly, with more outputs as far as random probes tell.
func TestInformation(t *testing.T) {
	for c, tolerance := range map[int]float64{3: 1e-10, 12: 0.1} {
		p := classes(t, 90, c)
		want := traces(t, p)
		found, err := gp.Information(t.Context(), p, gp.Run{Seed: 1})
		if err != nil || len(found) != 3 {
			t.Fatalf("%d layers, error %v", len(found), err)
		}
		for _, l := range found {
			sum := 0.0
			for _, q := range l.Params {
				sum += want[q.Name]
			}
			if math.Abs(l.Trace-sum) > tolerance*sum {
				t.Errorf("%d classes: %s has the trace %g, want %g", c, l.Params[0].Name, l.Trace, sum)
			}
		}
	}
}

func TestInformativeWeights(t *testing.T) {
	p := classes(t, 40, 3)
	all, err := gp.Information(t.Context(), p, gp.Run{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	best := slices.MaxFunc(all, func(a, b gp.LayerInformation) int { return int(math.Copysign(1, a.Trace-b.Trace)) })
	names, notes, err := gp.InformativeWeights(t.Context(), p, gp.Run{Seed: 1}, []string{"informative:1"})
	if err != nil || len(names) != 2 || names[0] != best.Params[0].Name || len(notes) != 1 || !strings.Contains(notes[0], names[1]) {
		t.Errorf("%q, %q, error %v", names, notes, err)
	}
	if names, notes, err := gp.InformativeWeights(t.Context(), p, gp.Run{}, []string{"last-layer"}); err != nil || notes != nil || names[0] != "last-layer" {
		t.Errorf("%q, %q, error %v", names, notes, err)
	}
	for choice, want := range map[string]string{"informative:0": "with a number K of layers from 1", "informative:x": "a number K", "informative:4": "has 3 layers"} {
		if _, _, err := gp.InformativeWeights(t.Context(), p, gp.Run{}, []string{choice}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", choice, err, want)
		}
	}
	if _, err := gp.Information(t.Context(), p, gp.Run{Memory: 1}); err == nil || !strings.Contains(err.Error(), "the information in the layers needs") {
		t.Errorf("one byte: %v", err)
	}
}
