package internal_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/data/torch"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

var fences = regexp.MustCompile("(?ms)^```(go|sh)\n(.*?)^```")

func readme(t *testing.T, language string) []string { return fenced(t, "../README.md", language) }

// fenced returns the blocks of a language in a document.
func fenced(t *testing.T, path, language string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range fences.FindAllStringSubmatch(string(text), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}

// TestReadmePrograms compiles and runs every Go program of the README.
func TestReadmePrograms(t *testing.T) {
	programs := readme(t, "go")
	if len(programs) < 2 {
		t.Fatalf("%d programs found", len(programs))
	}
	for i, src := range programs {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp(".", ".readme") // inside the module; the dot hides it from ./...
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(src), 0o644); err != nil {
				t.Fatal(err)
			}
			if out := execute(t, ".", "go", "run", "./"+dir); len(out) == 0 {
				t.Error("the program printed nothing")
			}
		})
	}
}

// TestReadmeCommands runs every command line of the README, in order, in a folder
// with the files it speaks of. The tests' own command is run by whoever runs this.
func TestReadmeCommands(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "valla")
	execute(t, ".", "go", "build", "-o", bin, "../cmd/valla")
	houses(t, dir)
	pictures(t, dir)
	ran := 0
	for _, line := range strings.Split(strings.Join(readme(t, "sh"), ""), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case line == "go test ./...":
		case strings.HasPrefix(line, "go run ./cmd/valla "):
			execute(t, dir, bin, words[3:]...)
			ran++
		case words[0] == "valla":
			execute(t, dir, bin, words[1:]...)
			ran++
		default:
			t.Errorf("line %q is not known how to run", line)
		}
	}
	if ran < 6 {
		t.Errorf("%d command lines were run", ran)
	}
	for _, want := range []string{"runs/demo/demo.png", "houses.valla", "predictions.csv"} {
		if _, err := os.Stat(filepath.Join(dir, want)); err != nil {
			t.Error(err)
		}
	}
}

// TestPyTorchCommands runs the command lines of the page for users of PyTorch with files that
// PyTorch has written, and with a table of random numbers.
func TestPyTorchCommands(t *testing.T) {
	dir := t.TempDir()
	bin := filepath.Join(dir, "valla")
	execute(t, ".", "go", "build", "-o", bin, "../cmd/valla")
	for _, ending := range []string{".onnx", ".pt", ".safetensors"} {
		data, err := os.ReadFile("../layers/onnx/testdata/mlp_relu" + ending)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "net"+ending), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	weights, err := torch.Read(filepath.Join(dir, "net.pt"))
	if err != nil {
		t.Fatal(err)
	}
	var arrays []*tensor.Dense
	for _, name := range weights.Names {
		a, _ := weights.Get(name)
		arrays = append(arrays, a)
	}
	if err := npy.WriteArchive(filepath.Join(dir, "net.npz"), weights.Names, arrays); err != nil {
		t.Fatal(err)
	}
	cnn, err := os.ReadFile("../layers/onnx/testdata/cnn_small.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cnn.onnx"), cnn, 0o644); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	photographs(t, filepath.Join(dir, "pictures"), rng)
	table := "x0,x1,x2,x3,x4,y0,y1\n"
	for range 60 {
		for range 6 {
			table += fmt.Sprintf("%.3f,", rng.NormFloat64())
		}
		table += fmt.Sprintf("%.3f\n", rng.NormFloat64())
	}
	if err := os.WriteFile(filepath.Join(dir, "data.csv"), []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(strings.Join(fenced(t, "../docs/pytorch.md", "sh"), "")), "\n") {
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		if words[0] != "valla" {
			t.Fatalf("line %q is not known how to run", line)
		}
		if words[1] == "fit" && !strings.Contains(line, "--method") {
			words = append(words, "--iterations", "30", "--inducing", "10") // quick
		}
		execute(t, dir, bin, words[1:]...)
	}
	shown := string(execute(t, dir, bin, "network", "show", "last.valla"))
	for _, want := range []string{"Gemm", "net.4.weight", "402 parameters", "structured"} {
		if !strings.Contains(shown, want) {
			t.Errorf("network show lacks %q:\n%s", want, shown)
		}
	}
}

// photographs writes small grey images of three classes, each into the folder of its class.
func photographs(t *testing.T, dir string, rng *rand.Rand) {
	t.Helper()
	for _, class := range []string{"a", "b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, class), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			img := image.NewGray(image.Rect(0, 0, 9, 10))
			for k := range img.Pix {
				img.Pix[k] = uint8(rng.IntN(256))
			}
			f, err := os.Create(filepath.Join(dir, class, fmt.Sprint(i, ".png")))
			if err != nil {
				t.Fatal(err)
			}
			if err := png.Encode(f, img); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func execute(t *testing.T, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stderr = dir, &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return out
}

// TestLinks: what the documents refer to in the project is there.
func TestLinks(t *testing.T) {
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links, found := regexp.MustCompile(`\]\(([^)#:]+)\)`), 0
	for _, d := range append(documents, "../README.md") {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllStringSubmatch(string(text), -1) {
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(d), m[1])); err != nil {
				t.Errorf("%s: %v", d, err)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d links found", found)
	}
}

// pictures writes small images of two classes, of which the second is brighter.
func pictures(t *testing.T, dir string) {
	t.Helper()
	const n, size = 40, 3 * 32 * 32
	x, y, rng := make([]uint8, n*size), make([]int64, n), rand.New(rand.NewPCG(2, 2))
	for i := range x {
		y[i/size] = int64(i / size % 2)
		x[i] = uint8(rng.IntN(128) + 100*int(y[i/size]))
	}
	err := npy.WriteArchive(filepath.Join(dir, "pictures.npz"), []string{"X", "y"}, []*tensor.Dense{
		tensor.New(tensor.WithShape(n, 3, 32, 32), tensor.WithBacking(x)), tensor.New(tensor.WithShape(n), tensor.WithBacking(y)),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// houses writes a small table, one with other rows and, as net.npz, a network for them.
func houses(t *testing.T, dir string) {
	t.Helper()
	for name, first := range map[string]int{"houses.csv": 0, "held.csv": 60} {
		var csv strings.Builder
		csv.WriteString("rooms,area,price\n")
		for i := first; i < first+60; i++ {
			rooms, area := float64(1+i%5), float64(30+(i*37)%90)
			fmt.Fprintf(&csv, "%g,%g,%g\n", rooms, area, 20+15*rooms+1.5*area+float64((i*29)%11))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(csv.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	net, err := layers.MLP{Inputs: 2, Hidden: []int{8}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := layers.Save(filepath.Join(dir, "net.npz"), net); err != nil {
		t.Fatal(err)
	}
}
