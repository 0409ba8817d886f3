package frozen

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// joinedAtLeast says before how many arrays of networks of the gallery several values lead across the cut, at least. In text
// and masked it is the mask, in both a state beside the words, in graph the neighbours and in unet the shortcut.
var joinedAtLeast = map[string]int{"both": 2, "embeddings": 1, "graph": 2, "masked": 4, "text": 12, "unet": 2, "mlp": 0}

// TestJoined: before each array of networks of the gallery, what is behind the cut computes of features what the network
// computes, with the same tangent kernel, also where several values lead across.
func TestJoined(t *testing.T) {
	for name, least := range joinedAtLeast {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("..", "..", "layers", "onnx", "testdata", "gallery", name)
			f, err := onnx.Read(path+".onnx", onnx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			net, err := f.Network(tensor.Float64)
			if err != nil {
				t.Fatal(err)
			}
			x, joined := galleryRows(t, f, path+".npz"), 0
			for _, p := range net.Params() {
				c, err := Before(net, f.Form.Input, tensor.Float64, []*graph.Param{p})
				if err != nil {
					t.Fatal(err)
				}
				if c != nil {
					joined += min(1, c.Place().Joined)
					checkJoined(t, net, c, x, p)
				}
			}
			if joined < least {
				t.Errorf("several values lead across %d cuts, expected %d", joined, least)
			}
		})
	}
}

// TestNoJoin: places that a network does not have are refused.
func TestNoJoin(t *testing.T) {
	f, err := onnx.Read("../../layers/onnx/testdata/gallery/lstm.onnx", onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(place int, want string) bool {
		_, err := After(net, Place{Parts: 1, Joined: place}, f.Form.Input, tensor.Float64)
		return err != nil && strings.Contains(err.Error(), want)
	}
	steps := 0 // places where a value has the steps on its first axis
	for place := range f.Form.Layers[0].(onnx.Graph).Nodes {
		if refused(place, "are no numbers of each row") {
			steps++
		}
	}
	if steps == 0 || !refused(-1, "a place behind -1 of") || !refused(1000, "a place behind 1000 of") {
		t.Errorf("%d places between steps", steps)
	}
	if _, err := After(layers.Sequential{}, Place{Parts: 1, Joined: 1}, f.Form.Input, tensor.Float64); err == nil || !strings.Contains(err.Error(), "no layer whose values can be joined") {
		t.Errorf("error %v", err)
	}
}

// checkJoined compares a network with its two pieces, and the pieces with those of another cut at the same place.
func checkJoined(t *testing.T, net layers.Network, c *Cut, x *tensor.Dense, p *graph.Param) {
	t.Helper()
	y, err := c.Features(t.Context(), x, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(c.Front.Params(), p) || !slices.Contains(c.Rest.Params(), p) {
		t.Errorf("%s is before the cut at %v", p.Name, c.Place())
	}
	part := []*graph.Param{p}
	got, gotK := kernels(t, layers.Part{Network: c.Rest, Chosen: part}, y)
	want, wantK := kernels(t, layers.Part{Network: net, Chosen: part}, x)
	if !near(got, want) || !near(gotK, wantK) {
		t.Errorf("before %s, at %v: outputs %.15g and kernel %.15g, expected %.15g and %.15g", p.Name, c.Place(), got[:2], gotK[:2], want[:2], wantK[:2])
	}
	again, err := After(net, c.Place(), x.Shape()[1:], tensor.Float64)
	if err != nil || again.Fingerprint(nil) != c.Fingerprint(nil) || again.First() != c.First() {
		t.Errorf("before %s, at %v: another cut at the same place, %v", p.Name, c.Place(), err)
	}
}

// near reports whether numbers agree to 10⁻¹⁰.
func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return max(x-y, y-x) <= 1e-10*max(1, y, -y) })
}

// galleryRows are the inputs of the reference of a network, those of several inputs beside each other.
func galleryRows(t *testing.T, f *onnx.File, path string) *tensor.Dense {
	t.Helper()
	ref, err := npy.ReadArchive(path)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"x"}
	if inputs := f.Form.Layers[0].(onnx.Graph).Inputs; inputs != nil {
		names = nil
		for _, i := range inputs {
			names = append(names, i.Name)
		}
	}
	var rows [][]float64
	for _, name := range names {
		a, ok := ref.Get(name)
		if !ok {
			t.Fatalf("the reference has no array %q", name)
		}
		n := a.Shape()[0]
		if rows == nil {
			rows = make([][]float64, n)
		}
		v := floatsOf(a)
		for i := range rows {
			rows[i] = append(rows[i], v[i*len(v)/n:(i+1)*len(v)/n]...)
		}
	}
	return tensor.New(tensor.WithShape(append([]int{len(rows)}, f.Form.Input...)...), tensor.WithBacking(slices.Concat(rows...)))
}

// floatsOf returns the elements of an array of floating-point numbers or integers.
func floatsOf(a *tensor.Dense) (v []float64) {
	if list, ok := a.Data().([]int64); ok {
		for _, k := range list {
			v = append(v, float64(k))
		}
		return v
	}
	return graph.Floats(a)
}
