package internal_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/torch"
	"github.com/go-valla/valla/layers"
	"github.com/parquet-go/parquet-go"
	"gorgonia.org/tensor"
)

var fences = regexp.MustCompile("(?ms)^```(go|sh)\n(.*?)^```")

// update makes tests write the files that are made by them.
var update = flag.Bool("update", false, "write the generated pages and tables")

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

// documents are the README and all pages.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, error %v", len(pages), err)
	}
	return append(pages, "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md")
}

// TestQuotedCode: what a document quotes from a file stands there.
func TestQuotedCode(t *testing.T) {
	for _, page := range documents(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?ms)^```go from ([^\n]*)\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
			src, err := os.ReadFile(filepath.Join("..", m[1]))
			if err != nil || !strings.Contains(string(src), m[2]) {
				t.Errorf("%s: %s does not have what is quoted from it, error %v:\n%s", page, m[1], err, m[2])
			}
		}
	}
}

// TestReadmeCommands runs every command line of the documents, in the order of a document, in a
// folder with the files that the document names. Fits of the pages below docs make a few steps
// only. The tests' own commands are run by whoever runs this.
func TestReadmeCommands(t *testing.T) {
	bin := command(t)
	for _, page := range documents(t) {
		name := filepath.Base(page)
		if name == "serving.md" { // its commands talk to a server; command/internal/serve has the tests
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, ran := t.TempDir(), 0
			prepare(t, dir, name)
			for _, line := range strings.Split(strings.Join(fenced(t, page, "sh"), ""), "\n") {
				words := strings.Fields(strings.ReplaceAll(line, "'", ""))
				switch {
				case len(words) == 0 || strings.HasPrefix(line, "go test "):
					continue
				case strings.HasPrefix(line, "go run ./cmd/valla "):
					words = words[2:]
				case words[0] != "valla":
					t.Errorf("line %q is not known how to run", line)
					continue
				}
				if name != "README.md" {
					words = quick(words)
				}
				execute(t, dir, bin, words[1:]...)
				ran++
			}
			if name == "README.md" {
				if ran < 6 {
					t.Errorf("%d command lines were run", ran)
				}
				checkScores(t, page, execute(t, dir, bin, "eval", "docs/data/houses-test.csv", "--model", "houses.valla", "--json"))
			}
		})
	}
}

// checkScores compares the scores that the README tells with those that eval prints.
func checkScores(t *testing.T, page string, printed []byte) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`alone \(MAP\)\s+is\s+([\d.]+)\s+here,\s+and\s+([\d.]+)\s+with\s+VaLLA`).FindSubmatch(text)
	var doc struct {
		Scores []struct {
			Method string
			NLL    float64
		}
	}
	err = json.Unmarshal(printed, &doc)
	last := len(doc.Scores) - 1
	if err != nil || told == nil || last < 1 || doc.Scores[0].Method != "MAP" || !strings.HasPrefix(doc.Scores[last].Method, "VaLLA") {
		t.Fatalf("%s tells %q, eval prints %s (error %v)", page, told, printed, err)
	}
	for i, s := range []float64{doc.Scores[0].NLL, doc.Scores[last].NLL} {
		if v, err := strconv.ParseFloat(string(told[i+1]), 64); err != nil || math.Abs(v-s) > 0.05 {
			t.Errorf("%s tells the NLL %s, eval prints %.4f", page, told[i+1], s)
		}
	}
}

// TestReadmeResults: the numbers of the README's table of results stand, with more digits, in the
// section of the page of results that their row links to.
func TestReadmeResults(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`-?\d+\.\d+`)
	rows := regexp.MustCompile(`(?m)^\|.*\]\(docs/results\.md#([a-z0-9-]+)\)\)(.*)$`).FindAllStringSubmatch(string(readme), -1)
	for _, row := range rows {
		section := regexp.MustCompile(`(?ms)^##+ ` + row[1] + `$.*?(^##|\z)`).FindString(string(page))
		there := numbers.FindAllString(section, -1)
		for _, told := range numbers.FindAllString(row[2], -1) {
			digits := len(told) - strings.Index(told, ".") - 1
			if !slices.ContainsFunc(there, func(n string) bool {
				v, err := strconv.ParseFloat(n, 64)
				return err == nil && strconv.FormatFloat(v, 'f', digits, 64) == told
			}) {
				t.Errorf("README.md tells %s, which the section %s of docs/results.md does not have", told, row[1])
			}
		}
	}
	if len(rows) < 3 {
		t.Errorf("%d rows link to the results", len(rows))
	}
}

// quick makes a fit or a training in steps, or a comparison, short.
func quick(words []string) []string {
	line := strings.Join(words, " ")
	switch {
	case strings.Contains(line, "--iterations"), strings.Contains(line, "--passes"):
	case words[1] == "compare":
		words = append(words, "--budget", "20s")
		if !strings.Contains(line, "--methods") {
			words = append(words, "--methods", "temperature,lla")
		}
	case words[1] == "train":
		words = append(words, "--iterations", "200")
	case words[1] == "fit" && (!strings.Contains(line, "--method") || strings.Contains(line, "--method valla")):
		words = append(words, "--iterations", "30")
		if !strings.Contains(line, "--inducing") {
			words = append(words, "--inducing", "10")
		}
	}
	return words
}

// prepare writes the files that a document speaks of.
func prepare(t *testing.T, dir, name string) {
	t.Helper()
	copyFiles(t, dir, "../docs/data/houses.csv", "../docs/data/houses-test.csv", "../docs/data/houses-held.csv", "../docs/data/net.json")
	if err := os.CopyFS(filepath.Join(dir, "docs", "data"), os.DirFS("../docs/data")); err != nil {
		t.Fatal(err)
	}
	pictures(t, dir)
	fromPyTorch(t, dir)
	if name != "pytorch.md" {
		simpleNet(t, dir)
	}
	if name == "gallery.md" {
		segmented(t, dir)
		texts(t, dir)
	}
}

// texts writes two networks of words, and tables of lists of random words for them: texts.parquet also has a class for each.
func texts(t *testing.T, dir string) {
	t.Helper()
	const folder = "../layers/onnx/testdata/gallery/"
	copyFiles(t, dir, folder+"text.onnx", folder+"masked.onnx")
	type text struct {
		Words []int64 `parquet:"words,list"`
	}
	type labelled struct {
		text
		Label int64 `parquet:"label"`
	}
	rng := rand.New(rand.NewPCG(7, 7))
	var rows []labelled
	var unseen []text
	for i := range 40 {
		words := make([]int64, 1+rng.IntN(6))
		for k := range words {
			words[k] = int64(1 + rng.IntN(19))
		}
		rows, unseen = append(rows, labelled{text{words}, int64(i % 2)}), append(unseen, text{words})
	}
	if err := parquet.WriteFile(filepath.Join(dir, "texts.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(filepath.Join(dir, "new.parquet"), unseen); err != nil {
		t.Fatal(err)
	}
}

// segmented writes a network with classes for each pixel, and archives of random images for it: train.npz also has the class of each
// pixel.
func segmented(t *testing.T, dir string) {
	t.Helper()
	const folder = "../layers/onnx/testdata/gallery/"
	copyFiles(t, dir, folder+"unet.onnx")
	ref, err := npy.ReadArchive(folder + "unet.npz")
	if err != nil {
		t.Fatal(err)
	}
	one, _ := ref.Get("x")
	shape, places := append([]int{20}, one.Shape()[1:]...), 16
	rng := rand.New(rand.NewPCG(6, 6))
	x, y := make([]float64, tensor.Shape(shape).TotalSize()), make([]int64, 20*places)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = int64(rng.IntN(2))
	}
	images := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
	for file, arrays := range map[string][]*tensor.Dense{"train.npz": {images, tensor.New(tensor.WithShape(20, places), tensor.WithBacking(y))}, "new.npz": {images}} {
		if err := npy.WriteArchive(filepath.Join(dir, file), []string{"X", "y"}[:len(arrays)], arrays); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFiles(t *testing.T, dir string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fromPyTorch writes files that PyTorch has written, and tables of random numbers for them.
func fromPyTorch(t *testing.T, dir string) {
	t.Helper()
	for _, ending := range []string{".onnx", ".pt", ".safetensors"} {
		copyFiles(t, dir, "../layers/onnx/testdata/mlp_relu"+ending)
		if err := os.Rename(filepath.Join(dir, "mlp_relu"+ending), filepath.Join(dir, "net"+ending)); err != nil {
			t.Fatal(err)
		}
	}
	copyFiles(t, dir, "../layers/onnx/testdata/cnn_small.onnx")
	if err := os.Rename(filepath.Join(dir, "cnn_small.onnx"), filepath.Join(dir, "cnn.onnx")); err != nil {
		t.Fatal(err)
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
	rng := rand.New(rand.NewPCG(1, 2))
	photographs(t, filepath.Join(dir, "pictures"), rng)
	for _, name := range []string{"data.csv", "new.csv"} {
		table := "x0,x1,x2,x3,x4,y0,y1\n"
		for range 60 {
			for range 6 {
				table += fmt.Sprintf("%.3f,", rng.NormFloat64())
			}
			table += fmt.Sprintf("%.3f\n", rng.NormFloat64())
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(table), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNetworkShow: what the page for users of PyTorch says of the command.
func TestNetworkShow(t *testing.T) {
	shown := string(execute(t, ".", command(t), "network", "show", "../layers/onnx/testdata/mlp_relu.onnx"))
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

// TestLinks: what the documents refer to in the project is there, with its heading.
func TestLinks(t *testing.T) {
	links, found := regexp.MustCompile(`\]\(([^)#:]*)(#[^)]*)?\)`), 0
	code := regexp.MustCompile("(?ms)^```.*?^```")
	for _, d := range documents(t) {
		text, err := os.ReadFile(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range links.FindAllStringSubmatch(code.ReplaceAllString(string(text), ""), -1) {
			found++
			path := filepath.Join(filepath.Dir(d), m[1])
			if m[1] == "" {
				path = d
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s: %v", d, err)
			} else if m[2] != "" && !slices.Contains(anchors(t, path), m[2]) {
				t.Errorf("%s: %s has no heading %s", d, path, m[2])
			}
		}
	}
	if found < 20 {
		t.Errorf("%d links found", found)
	}
}

// anchors are the addresses of the headings of a document.
func anchors(t *testing.T, path string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		words := regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, "#"+strings.ReplaceAll(words, " ", "-"))
	}
	return list
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

// simpleNet writes net.npz, a perceptron for two inputs, in the place of PyTorch's file.
func simpleNet(t *testing.T, dir string) {
	t.Helper()
	net, err := layers.MLP{Inputs: 2, Hidden: []int{8}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := layers.Save(filepath.Join(dir, "net.npz"), net); err != nil {
		t.Fatal(err)
	}
}
