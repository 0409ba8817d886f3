package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/train"
)

// score returns a score of a row of the demonstration.
func (s Score) score(t *testing.T, name string) float64 {
	t.Helper()
	for _, v := range s.Scores.List {
		if v.Name == name {
			return v.Value
		}
	}
	t.Fatalf("%s has no %s", s.Method, name)
	return 0
}

// The demonstration is run as the command does, and leaves pictures and a model that can be
// used.
func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	var work []string
	res, err := Demo(t.Context(), dir, 1, func(what string, p train.Progress) {
		if !slices.Contains(work, what) {
			work = append(work, what)
		}
		if p.Done > p.Total {
			t.Errorf("%s: %d of %d", what, p.Done, p.Total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.StdError > 0.1 || !(res.StdError > 0) {
		t.Errorf("VaLLA's standard deviation differs by %g of LLA's mean one, want at most 0.1", res.StdError)
	}
	if res.Points != 200 || res.Seed != 1 || !(res.PriorStd > 0) || !(res.NoiseStd > 0.1 && res.NoiseStd < 0.3) {
		t.Errorf("%d points, seed %d, σ₀ %v, σ %v, which is 0.2 in truth", res.Points, res.Seed, res.PriorStd, res.NoiseStd)
	}
	var methods []string
	for _, s := range res.Scores {
		methods = append(methods, s.Method)
		if s.score(t, "RMSE") != res.Scores[0].score(t, "RMSE") || s.Scores.N != 200 || s.Seconds <= 0 {
			t.Errorf("%s: %+v, MAP %+v", s.Method, s, res.Scores[0])
		}
	}
	if !slices.Equal(methods, []string{"MAP", "LLA", "VaLLA 20"}) {
		t.Errorf("methods %q", methods)
	}
	if !slices.Contains(work, "MAP") || !slices.Contains(work, "VaLLA 20 Adam") {
		t.Errorf("progress of %q", work)
	}
	for _, f := range res.Files {
		if _, err := os.Stat(f); err != nil {
			t.Error(err)
		}
	}
	if _, err := json.Marshal(res); err != nil {
		t.Error(err)
	}
	checkPicture(t, filepath.Join(dir, "demo.png"))
	m, err := valla.Load(filepath.Join(dir, "demo.valla"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(t.Context(), tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float64{0, 3})), valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p.Latent[0] < 4*p.Latent[1] {
		t.Errorf("latent variance %g in the gap, %g in the data", p.Latent[0], p.Latent[1])
	}
}

// checkPicture decodes a picture and looks at its size.
func checkPicture(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 300 || b.Dy() < 200 {
		t.Errorf("%s has %v pixels", path, b.Max)
	}
}

// A context that ends and a folder that cannot be made are errors of one line.
func TestDemoErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Demo(ended, t.TempDir(), 0, nil); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Demo(t.Context(), file, 0, nil); err == nil || !strings.HasPrefix(err.Error(), "experiments: ") {
		t.Errorf("error %v", err)
	}
}
