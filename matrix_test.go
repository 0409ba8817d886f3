package valla

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/task"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/layers"
)

// waistForm is a form from outside of package layers: vectors go through a narrow layer.
type waistForm struct {
	Inputs int `json:"inputs"`
	Waist  int `json:"waist"`
	Out    int `json:"outputs"`
}

func init() { layers.Register[waistForm]("waist") }

func (f waistForm) InputShape() []int { return []int{f.Inputs} }
func (f waistForm) String() string    { return fmt.Sprintf("waist of %d", f.Waist) }
func (f waistForm) Structure() (layers.Layers, error) {
	return layers.Layers{layers.DenseLayer{Outputs: f.Waist}, layers.Activation("sin"), layers.DenseLayer{Outputs: f.Out}}, nil
}

// formCase is a kind of network on examples of a shape. A text with a verb for the number
// of outputs is a file that describes the network.
type formCase struct {
	name    string
	network Network
	text    string
	shape   []int
}

var formCases = []formCase{
	{name: "mlp", network: Network{Hidden: []int{3}}, shape: []int{2}},
	{name: "cnn", network: Network{Form: "cnn", Filters: []int{2}, Hidden: []int{3}}, shape: []int{1, 4, 4}},
	{name: "sequential", shape: []int{2, 3, 3}, text: `{"kind":"sequential","input":[2,3,3],"layers":[
		{"kind":"conv2d","filters":2,"kernel":3,"padding":1},{"kind":"batchnorm"},
		{"kind":"residual","inner":[{"kind":"conv2d","filters":2,"kernel":1},{"kind":"relu"}]},
		{"kind":"flatten"},{"kind":"dense","outputs":%d}]}`},
	{name: "registered elsewhere", shape: []int{2}, text: `{"kind":"waist","inputs":2,"waist":2,"outputs":%d}`},
	{name: "resnet8", network: Network{Form: "resnet8"}, shape: []int{3, 4, 4}},
}

// methodCases are the methods, in the order of the table, as fast as they can be.
var methodCases = []struct {
	name string
	s    gp.Settings
}{
	{"natural", &vallagp.Settings{Inducing: 3, Iterations: 2}},
	{"adam", &vallagp.Settings{Optimizer: "adam", Inducing: 3, Iterations: 2}},
	{"full", &laplace.Settings{}},
	{"kfac", &laplace.Settings{Structure: "kfac", Priors: "per-layer", AscentSteps: 3, Subset: 8}},
	{"diag", &laplace.Settings{Structure: "diag"}},
	{"lowrank", &laplace.Settings{Structure: "lowrank", Rank: 2, Hyper: "fixed", PriorStd: 0.5}},
	{"last layer", &laplace.Settings{Weights: []string{"last-layer"}, Hyper: "grid"}},
	{"subset", &laplace.SubsetSettings{}},
}

// taskCases are outputs with the targets of examples.
var taskCases = []struct {
	name    string
	outputs task.Outputs
}{
	{"one number", &task.Regression{Names: []string{"y"}, Mean: []float64{2}, Std: []float64{3}, NoiseVariance: 0.5}},
	{"two numbers", &task.Regression{Names: []string{"y", "z"}, NoiseVariance: 0.5}},
	{"classes", &task.Classification{Name: "y", Classes: []float64{1, 2, 4}}},
}

// examples returns n random examples for a task.
func examples(n int, shape []int, o task.Outputs, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 3))
	size, t := tensor.Shape(shape).TotalSize(), len(task.Task{Outputs: o}.Targets())
	x, y := make([]float64, n*size), make([]float64, n*t)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
		if c, ok := o.(*task.Classification); ok {
			y[i] = c.Classes[i%len(c.Classes)]
		}
	}
	set := &data.Set{Targets: task.Task{Outputs: o}.Targets(), X: denseOf(x, append([]int{n}, shape...)...), Y: denseOf(y, n, t)}
	if len(shape) == 1 {
		set.Features = []string{"a", "b"}
	}
	return set
}

// build returns a model with random weights.
func (c formCase) build(t *testing.T, o task.Outputs, dt tensor.Dtype) *Model {
	t.Helper()
	n := c.network
	n.Dtype = dt.String()
	if c.text != "" {
		n.Form = filepath.Join(t.TempDir(), "form.json")
		if err := os.WriteFile(n.Form, fmt.Appendf(nil, c.text, task.Task{Outputs: o}.Size()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	n, err := n.complete()
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Task: task.Task{Inputs: task.Inputs{Shape: c.shape}, Outputs: o}, History: []Event{{Action: ActionWeights, Label: "MAP"}}}
	if len(c.shape) == 1 {
		m.Task.Inputs.Features = []string{"a", "b"}
	}
	if err := m.build(n, 5); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEveryNetworkTaskMethodAndType fits a posterior of each kind, and reads it back from
// its file: the predictions are the same to the last bit.
func TestEveryNetworkTaskMethodAndType(t *testing.T) {
	for n, f := range formCases {
		for i, k := range taskCases {
			for j, dt := range bothTypes {
				m := f.build(t, k.outputs, dt)
				set, x := examples(12, f.shape, k.outputs, 1), examples(4, f.shape, k.outputs, 2).X
				for l, how := range methodCases {
					if (n+i+2*j+l)%4 != 0 && !fixture.Long() {
						continue // the networks together have each pair of task and method
					}
					t.Run(fmt.Sprintf("%s, %s, %s, %v", f.name, k.name, how.name, dt), func(t *testing.T) {
						fitted := fit(t, m, set, FitOptions{Settings: how.s, Validation: new(0.25)})
						comesBack(t, fitted, x)
					})
				}
			}
		}
	}
}

// comesBack checks that a file gives a model with a posterior back.
func comesBack(t *testing.T, m *Model, x *tensor.Dense) {
	t.Helper()
	path := written(t, m)
	got := loaded(t, path)
	want := predict(t, m, x)
	if again := predict(t, got, x); !slices.Equal(numbers(again), numbers(want)) {
		t.Errorf("the loaded model predicts %v, expected %v", numbers(again)[:3], numbers(want)[:3])
	}
	if got.String() != m.String() || got.String() == "MAP" || got.Form.String() != m.Form.String() || got.Dtype() != m.Dtype() {
		t.Errorf("%v of %v in %v became %v of %v in %v", m, m.Form, m.Dtype(), got, got.Form, got.Dtype())
	}
	if a, b := inJSON(t, m.History), inJSON(t, got.History); a != b {
		t.Errorf("history %s became %s", a, b)
	}
	if p, mean := predict(t, m.MAP(), x), want; gp.MeanOf(m.Posterior.Stored) == "" && !close(p.Mean, mean.Mean, 1e-5) {
		t.Errorf("means %v, those of the network %v", mean.Mean, p.Mean)
	}
	if again := read(t, written(t, got)); !slices.Equal(again, read(t, path)) {
		t.Error("the loaded model is saved as another file")
	}
	other := *got
	other.Posterior = nil
	last := len(got.Net.Params()) - 1
	got.Net.Params()[last].Set(0, got.Net.Params()[last].At(0)+1)
	if err := other.attach(got.Posterior, m.fingerprint()); !errors.Is(err, errFingerprint) || other.Posterior != nil {
		t.Errorf("Attach to other weights: %v", err)
	}
}

func close(a, b []float64, tol float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x-y <= tol*max(1, x) && y-x <= tol*max(1, x) })
}
