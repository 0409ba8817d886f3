package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp/laplace"
)

// mixed is a server with a model of a network of PyTorch that has the inputs x [4], day and shop.
func mixed(t *testing.T) *running {
	t.Helper()
	net := filepath.Join("..", "..", "..", "layers", "onnx", "testdata", "gallery", "embeddings.onnx")
	form, err := valla.Network{Form: net}.Describe(nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, features := valla.InputNames(form)
	const n = 20
	x, y := make([]float64, 6*n), make([]float64, n)
	for i := range x {
		x[i] = float64(i * 7 % 5)
	}
	for i := range y {
		y[i] = float64(i * i % 7)
	}
	set := &data.Set{Features: features, Targets: []string{"y"}, X: tensor.New(tensor.WithShape(n, 6), tensor.WithBacking(x)), Y: tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(y))}
	m, err := valla.FromWeights(t.Context(), net, set, valla.WeightOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err = m.Fit(t.Context(), set, valla.FitOptions{Settings: &laplace.Settings{Weights: []string{"last-layer"}}, Law: "gaussian"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mixed.valla")
	if err := m.Save(file); err != nil {
		t.Fatal(err)
	}
	r := &running{t: t}
	if r.Server, err = New(Options{Reload: -1, Models: []Source{{"mixed", file}}}); err == nil {
		err = r.Server.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	r.url = behind(t, r.Server)
	return r
}

// TestNamedInputs: a tensor for each input of a network gives the predictions that one tensor of all inputs gives.
func TestNamedInputs(t *testing.T) {
	r := mixed(t)
	infer := func(inputs string) (int, string) {
		a, body := r.send("POST", "/v2/models/mixed/infer", "application/json", []byte(`{"inputs": [`+inputs+`]}`))
		return a.StatusCode, string(body)
	}
	status, want := infer(`{"name": "rows", "shape": [2, 6], "datatype": "FP64", "data": [1, 2, 3, 4, 5, 6, 0.5, 0, 0, 0, 2, 9]}`)
	if status != 200 {
		t.Fatalf("status %d: %s", status, want)
	}
	x := `{"name": "x", "shape": [2, 4], "datatype": "FP64", "data": [1, 2, 3, 4, 0.5, 0, 0, 0]}`
	day := `{"name": "day", "shape": [2], "datatype": "INT64", "data": [5, 2]}`
	shop := `{"name": "shop", "shape": [2, 1], "datatype": "INT64", "data": [6, 9]}`
	if status, got := infer(shop + "," + x + "," + day); status != 200 || got != want {
		t.Errorf("status %d: %s, want %s", status, got, want)
	}
	for message, inputs := range map[string]string{
		"input \\\"x\\\": FP64 of shape [4 2], expected 4 numbers for each row": strings.Replace(x, "[2, 4]", "[4, 2]", 1) + "," + day + "," + shop,
		"no column \\\"shop\\\" among the inputs":                               x + "," + day,
		"input \\\"x\\\" is there twice":                                        x + "," + x + "," + day + "," + shop,
	} {
		if status, got := infer(inputs); status != 400 || !strings.Contains(got, message) {
			t.Errorf("status %d: %s, want %s", status, got, message)
		}
	}
}
