package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/model"
	"gorgonia.org/tensor"
)

var ctx = context.Background()

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

// checkPictures decodes path.png and path.svg.
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
	if raw, err = os.ReadFile(path + ".svg"); err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s.svg: %v", path, err)
		}
	}
}

// waves is a noisy sine of the first of two columns.
func waves(n int) (x, y []float64) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x = append(x, a, b)
		y = append(y, 3*a*a-b+0.5*rng.NormFloat64())
	}
	return x, y
}

func TestToyReport(t *testing.T) {
	dir := t.TempDir()
	var csv strings.Builder
	csv.WriteString("x,y\n")
	x, y := waves(60)
	for i := range y {
		csv.WriteString(strings.Join([]string{num(x[2*i]), num(y[i])}, ",") + "\n")
	}
	file := filepath.Join(dir, "toy.csv")
	if err := os.WriteFile(file, []byte(csv.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	o := ToyDefaults()
	o.Data, o.Dir, o.Inducing, o.Iterations = file, filepath.Join(dir, "out"), []int{3, 8}, 30
	res, err := Toy(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Rows) != 2 || res.Rows[1].StdError >= res.Rows[0].StdError {
		t.Errorf("rows %+v: the difference does not fall with M", res.Rows)
	}
	checkPictures(t, filepath.Join(o.Dir, "toy-m8"))
	checkReport(t, filepath.Join(o.Dir, "toy"), &ToyResult{}, "![MAP, exact LLA and VaLLA with M = 8](toy-m8.png)", "VaLLA M=3")

	o.Data = filepath.Join(dir, "none.csv")
	if _, err := Toy(ctx, o); err == nil || !strings.Contains(err.Error(), "none.csv") {
		t.Errorf("error for a missing file: %v", err)
	}
}

func num(v float64) string { b, _ := json.Marshal(v); return string(b) }

// checkReport reads NAME.json into result and looks for texts in NAME.md.
func checkReport(t *testing.T, path string, result any, texts ...string) {
	t.Helper()
	doc, err := os.ReadFile(path + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, result); err != nil {
		t.Errorf("%s.json: %v", path, err)
	}
	md, err := os.ReadFile(path + ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(md), text) {
			t.Errorf("%s.md lacks %q", path, text)
		}
	}
}

func TestUCIReport(t *testing.T) {
	dir := t.TempDir()
	x, y := waves(80)
	test := []int64{0, 5, 11, 17, 23, 29, 42}
	err := npy.WriteArchive(filepath.Join(dir, "waves.npz"), []string{"X", "y", "test_0"}, []*tensor.Dense{
		tensor.New(tensor.WithShape(80, 2), tensor.WithBacking(x)),
		tensor.New(tensor.WithShape(80, 1), tensor.WithBacking(y)),
		tensor.New(tensor.WithShape(len(test)), tensor.WithBacking(test)),
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	o := UCIOptions{Data: dir, Dir: filepath.Join(dir, "out"), Sets: []string{"waves"}, Inducing: 10, Iterations: 200,
		OnScore: func(Score) { seen++ }}
	res, err := UCI(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if seen != 3 || len(res.Scores) != 3 || res.Scores[2].N != len(test) {
		t.Errorf("%d calls, scores %+v", seen, res.Scores)
	}
	again, err := UCI(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range res.Scores {
		a, b := res.Scores[i], again.Scores[i]
		if a.Seconds, b.Seconds = 0, 0; a != b {
			t.Errorf("the same seed gave %+v and %+v", a, b)
		}
	}
	checkReport(t, filepath.Join(o.Dir, "uci"), &UCIResult{}, "waves", "LLA", "VaLLA M=10")

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := UCI(cancelled, o); !errors.Is(err, context.Canceled) {
		t.Errorf("error after cancelling: %v", err)
	}
}

// TestBestIsStarred: one star for each column and data set, none where all are equal.
func TestBestIsStarred(t *testing.T) {
	rows := []Score{
		{Dataset: "a", Method: "MAP", NLL: 2, RMSE: 1, CRPS: 0.5, CQM: 0.1},
		{Dataset: "a", Method: "LLA", NLL: 1, RMSE: 1, CRPS: 0.6, CQM: 0.1000001},
		{Dataset: "b", Method: "MAP", NLL: 3, RMSE: 1, CRPS: 0.5, CQM: 0.2},
	}
	md := MarkdownScores(rows)
	for _, want := range []string{"| a | MAP | 2.0000 | 1.0000 | 0.5000 * | 0.1000 |", "| a | LLA | 1.0000 * | 1.0000 | 0.6000 | 0.1000 |", "| b | MAP | 3.0000 | 1.0000 |"} {
		if !strings.Contains(md, want) {
			t.Errorf("table lacks %q:\n%s", want, md)
		}
	}
}
