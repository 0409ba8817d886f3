package gp

import (
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestCheckInputs: what a header says of the inputs is compared with the network.
func TestCheckInputs(t *testing.T) {
	net, err := layers.MLP{Inputs: 3, Hidden: []int{4}, Outputs: 2, Activation: "tanh"}.New(tensor.Float32, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, outputs := range []int{0, 2} {
		if dt, c, err := CheckInputs(net, []int{3}, outputs); err != nil || dt != tensor.Float32 || c != 2 {
			t.Errorf("%v, %d outputs, %v", dt, c, err)
		}
	}
	for _, c := range []struct {
		net     layers.Network
		input   []int
		outputs int
		want    string
	}{
		{layers.Sequential{}, []int{3}, 0, "without parameters"},
		{net, nil, 0, "inputs of shape [], expected positive sizes"},
		{net, []int{0}, 0, "inputs of shape [0], expected positive sizes"},
		{net, []int{1 << 20, 1 << 20}, 0, "expected positive sizes"},
		{net, []int{4}, 0, "inputs of shape [4]: "},
		{net, []int{3}, 3, "outputs of shape (1, 2), expected [1,3]"},
	} {
		if _, _, err := CheckInputs(c.net, c.input, c.outputs); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("inputs %v, %d outputs: %v, want %q", c.input, c.outputs, err, c.want)
		}
	}
}

// TestCheckPositive: the first number that is not finite and positive is named.
func TestCheckPositive(t *testing.T) {
	if err := CheckPositive(Fact{"a", 1e-300}, Fact{"b", 1e300}); err != nil {
		t.Error(err)
	}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if err := CheckPositive(Fact{"a", 1}, Fact{"b", v}, Fact{"c", -1}); err == nil || !strings.HasPrefix(err.Error(), "b ") {
			t.Errorf("%g: %v", v, err)
		}
	}
}

// TestSavedPart: a part has its own header, in which nothing may be unknown, and its own arrays.
func TestSavedPart(t *testing.T) {
	var names arrayNames
	s := SavedPart(&names, []byte(`{"a": 3}`), "first.")
	var h struct {
		A int `json:"a"`
	}
	if err := s.Header(&h); err != nil || h.A != 3 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := s.Array("z", tensor.Float64, 2); err != nil || len(names) != 1 || names[0] != "first.z" {
		t.Errorf("%v, %v", names, err)
	}
	for text, want := range map[string]string{`{"b": 3}`: "unknown field", `{"a": 3} 4`: "text after its end", `{"a": `: "EOF"} {
		if err := SavedPart(&names, []byte(text), "").Header(&h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// arrayNames is a Saved that keeps the names of the arrays that it is asked for.
type arrayNames []string

func (n *arrayNames) Header(any) error { return nil }

func (n *arrayNames) Array(name string, _ tensor.Dtype, _ ...int) (*tensor.Dense, error) {
	*n = append(*n, name)
	return nil, nil
}

// TestStateAdd: a state has the arrays of its parts under their prefixes, and the headers are text. The error of a part is returned.
func TestStateAdd(t *testing.T) {
	var s State
	for _, prefix := range []string{"first.", "second."} {
		text, err := s.Add(storedPart{}, prefix)
		if err != nil || string(text) != `{"a":3}` || s.Arrays[len(s.Arrays)-1].Name != prefix+"z" {
			t.Errorf("header %s, arrays %v, %v", text, s.Arrays, err)
		}
	}
	if _, err := s.Add(storedPart{err: io.EOF}, ""); err != io.EOF || len(s.Arrays) != 2 {
		t.Errorf("%d arrays, error %v", len(s.Arrays), err)
	}
}

// storedPart is a posterior with one array.
type storedPart struct {
	Posterior
	err error // of State
}

func (storedPart) String() string { return "" }

func (p storedPart) State() (State, error) {
	return State{Header: map[string]int{"a": 3}, Arrays: []Array{{Name: "z"}}}, p.err
}

// TestBest: the candidate with the least value wins, the first of equal ones, and no finite value
// is an error.
func TestBest(t *testing.T) {
	values := []float64{3, math.NaN(), 1, math.Inf(1), 1}
	try := func(i int) (int, float64, error) { return i, values[i], nil }
	if got, nll, err := Best([]int{0, 1, 2, 3, 4}, "numbers", try); got != 2 || nll != 1 || err != nil {
		t.Errorf("%d with %g, %v", got, nll, err)
	}
	if _, _, err := Best([]int{1, 3}, "numbers", try); err == nil || !strings.Contains(err.Error(), "any of 2 numbers") {
		t.Errorf("%v, want an error that no value is finite", err)
	}
}
