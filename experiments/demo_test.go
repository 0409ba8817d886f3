package experiments

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/model"
)

// TestDemo runs the demonstration as the command does and checks what it leaves.
func TestDemo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	res, err := Demo(ctx, DemoOptions{Dir: dir, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if res.StdError > 0.1 {
		t.Errorf("VaLLA's standard deviation differs by %g of LLA's mean one, want at most 0.1", res.StdError)
	}
	var methods []string
	for _, s := range res.Scores {
		methods = append(methods, s.Method)
		if s.RMSE != res.Scores[0].RMSE {
			t.Errorf("%s changed the mean: RMSE %g, MAP's %g", s.Method, s.RMSE, res.Scores[0].RMSE)
		}
	}
	if !slices.Equal(methods, []string{"MAP", "LLA", "VaLLA M=20"}) {
		t.Errorf("methods %q", methods)
	}
	checkPictures(t, filepath.Join(dir, "demo"))
	m, err := model.Load(filepath.Join(dir, "demo.valla"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(ctx, column([]float64{0, 3}))
	if err != nil {
		t.Fatal(err)
	}
	if p.Latent[0] < 4*p.Latent[1] {
		t.Errorf("latent variance %g in the gap, %g in the data", p.Latent[0], p.Latent[1])
	}
}

// checkPictures decodes path.png and looks for path.svg.
func checkPictures(t *testing.T, path string) {
	t.Helper()
	raw, err := os.ReadFile(path + ".png")
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() < 300 || b.Dy() < 200 {
		t.Errorf("%s.png has %v pixels", path, b.Max)
	}
	if _, err := os.Stat(path + ".svg"); err != nil {
		t.Fatal(err)
	}
}
