package layers

import (
	"fmt"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/fixture"
)

// fixtureWeights writes the weights W1, b1, … of a fixture to an archive.
func fixtureWeights(t *testing.T, a fixture.Arrays) string {
	t.Helper()
	f := &file{}
	for l := 1; a.Has(fmt.Sprint("W", l)); l++ {
		for _, key := range []string{fmt.Sprint("W", l), fmt.Sprint("b", l)} {
			f.add(key, a.Dense(t, key))
		}
	}
	return f.write(t)
}

// fixtureOutputs loads the weights into a network of its own and runs it.
func fixtureOutputs(t *testing.T, path string, act Activation, x *tensor.Dense) []float64 {
	t.Helper()
	m, err := InferMLP(path, act, LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := m.New(tensor.Float64, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := Load(path, net, LoadOptions{Layout: InOut}); err != nil {
		t.Fatal(err)
	}
	return forward(t, net, x)
}

func TestFixtureActivations(t *testing.T) {
	a := fixture.Load(t, "mlp_act")
	path, tested := fixtureWeights(t, a), 0
	for _, key := range a.Names() {
		act, ok := strings.CutPrefix(key, "g_")
		if !ok {
			continue
		}
		fixture.Close(t, key, fixtureOutputs(t, path, Activation(act), a.Dense(t, "X")), a.Floats(t, key), 1e-12)
		tested++
	}
	if tested == 0 {
		t.Error("the fixture has no outputs g_…")
	}
}

func TestFixtureRegression(t *testing.T) {
	a := fixture.Load(t, "mlp_reg")
	path := fixtureWeights(t, a)
	for _, points := range []string{"X", "Z"} {
		fixture.Close(t, "g_"+points, fixtureOutputs(t, path, "tanh", a.Dense(t, points)), a.Floats(t, "g_"+points), 1e-12)
	}
}

// The authors' networks for MNIST and Fashion MNIST: state dictionaries of a
// PyTorch Sequential with drop-out between its layers.
func TestFixturePublishedWeights(t *testing.T) {
	for _, name := range []string{"ludvins_mlp_mnist.npz", "ludvins_mlp_fmnist.npz"} {
		path := fixture.Shared(t, "weights", name)
		m, err := InferMLP(path, "tanh", LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := m.String(), "784-200-200-10 tanh"; got != want {
			t.Fatalf("%s: %s, want %s", name, got, want)
		}
		for _, dt := range dtypes {
			net, err := m.New(dt, newRand(1))
			if err != nil {
				t.Fatal(err)
			}
			if err := Load(path, net, LoadOptions{}); err != nil {
				t.Fatal(err)
			}
			comparePublished(t, path, net)
		}
		square, _ := m.New(tensor.Float32, newRand(1))
		if err := Load(path, square, LoadOptions{Layout: InOut}); err == nil || !strings.Contains(err.Error(), "(200, 784), expected (784, 200)") {
			t.Errorf("%s in the wrong layout: error %v", name, err)
		}
	}
}

// comparePublished holds net against the arrays of the file, layer by layer.
func comparePublished(t *testing.T, path string, net Network) {
	t.Helper()
	f, err := readWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"0.weight", "0.bias", "3.weight", "3.bias", "6.weight", "6.bias"} {
		want := f.arrays[key]
		if i%2 == 0 {
			want = flip(want)
		}
		p := net.Params()[i]
		if !sameBits([][]float64{floats(p.Value)}, [][]float64{floats(want)}) {
			t.Errorf("%s: %s differs from %s", path, p.Name, key)
		}
	}
}
