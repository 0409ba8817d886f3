package internal_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

const module = "github.com/go-valla/valla"

// level places every package; a package imports only packages of lower levels. The
// longest matching prefix counts, so data/npy follows data unless it is named.
var level = map[string]int{
	"internal/kernel":              0,
	"internal/atomicfile":          0,
	"internal/strictjson":          0,
	"internal/cputime":             0,
	"internal/fault":               0,
	"internal/ram":                 0,
	"internal/settings":            0,
	"internal/registry":            0,
	"internal/scratch":             0,
	"internal/systematic":          0,
	"internal/passes":              0,
	"internal/raw":                 0,
	"internal/dense":               0,
	"internal/fixture":             0,
	"internal/small":               7,
	"internal/openblas":            2,
	"internal/tablefile":           1,
	"internal/figure":              1,
	"internal/eigen":               1,
	"internal/archive":             4,
	"internal/npy":                 1,
	"internal/torch":               1,
	"internal/safetensors":         1,
	"internal/onnxfile":            1,
	"internal/onnxruntime":         2,
	"data/internal/resize":         0,
	"data/idx":                     2,
	"data/image":                   1,
	"data/internal/fetch":          1,
	"data":                         2,
	"data/cifar":                   2,
	"data/augment":                 2,
	"data/corrupt":                 3,
	"data/internal/tabular":        3,
	"data/sets":                    4,
	"graph":                        3,
	"graph/graphtest":              4,
	"layers":                       4,
	"layers/layertest":             6,
	"layers/onnx":                  6,
	"layers/onnx/onnxtest":         7,
	"train/metric":                 4,
	"jacobian":                     5,
	"train":                        5,
	"gp/likelihood":                5,
	"gp/likelihood/likelihoodtest": 6,
	"gp":                           6,
	"gp/calibrate":                 1,
	"gp/internal/steps":            7,
	"gp/internal/along":            7,
	"gp/gptest":                    7,
	"gp/task":                      7,
	"gp/unseen":                    7,
	"gp/valla":                     8,
	"gp/laplace":                   7,
	"gp/ella":                      8,
	"gp/sampled":                   8,
	"gp/moe":                       8,
	"gp/fmgp":                      8,
	"gp/sfr":                       8,
	"gp/gapa":                      8,
	"gp/mfvi":                      8,
	"gp/sngp":                      8,
	"gp/sum":                       9,
	"gp/corrected":                 9,
	"gp/ensemble":                  8,
	"gp/frozen":                    8,
	"gp/method":                    10,
	"internal/holdout":             9,
	"valla":                        11,
	"compare":                      12,
	"experiments/internal/spec":    12,
	"experiments/internal/result":  1,
	"experiments/internal/report":  2,
	"experiments/internal/runner":  13,
	"experiments/bench":            15,
	"experiments":                  14,
	"experiments/publish":          15,
	"internal/honest":              12,
	"internal/listing":             12,
	"pass":                         13,
	"client":                       0,
	"command/internal/serve/oip":   0,
	"command/internal/serve":       13,
	"command/internal/assess":      12,
	"command":                      16,
	"cmd":                          17,
	"data/internal/gunzip":         0,
	"internal/coverage":            9,
	"internal/portable":            0,
	"internal/release":             17,
	"internal/audit":               3,
}

func levelOf(t *testing.T, path string) int {
	t.Helper()
	for p := path; ; p = p[:strings.LastIndexByte(p, '/')] {
		if l, ok := level[p]; ok {
			return l
		}
		if !strings.Contains(p, "/") {
			t.Fatalf("package %s has no level; give it one in the table above", path)
		}
	}
}

// TestDependencyOrder checks that imports go down the levels only, tests included.
func TestDependencyOrder(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	found := 0
	for dec.More() {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		path, _ := inModule(p.ImportPath)
		if path == "internal" {
			continue // this test
		}
		found++
		from := levelOf(t, path)
		for _, imp := range p.Imports {
			if rel, ours := inModule(imp); ours && levelOf(t, rel) >= from {
				t.Errorf("%s (level %d) imports %s (level %d)", path, from, rel, levelOf(t, rel))
			}
		}
		for _, imp := range append(p.TestImports, p.XTestImports...) {
			if rel, ours := inModule(imp); ours && rel != path && !testHelper(rel) && levelOf(t, rel) >= from {
				t.Errorf("tests of %s (level %d) import %s (level %d)", path, from, rel, levelOf(t, rel))
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d packages found", found)
	}
}

// TestBeamStaysOut: only the nested module needs the modules that Beam needs.
func TestBeamStaysOut(t *testing.T) {
	graph, err := exec.Command("go", "mod", "graph").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(graph), "apache/beam") || !strings.Contains(string(graph), "gorgonia.org/tensor") {
		t.Error("the module graph has apache/beam, or is not that of the project")
	}
}

// inModule returns the path of a package of ours below the module's, the root package
// being called valla.
func inModule(path string) (string, bool) {
	if path == module {
		return "valla", true
	}
	return strings.CutPrefix(path, module+"/")
}

// testHelper reports whether path is a package made for tests, which packages of any level may use.
func testHelper(path string) bool {
	return path == "internal/fixture" || path == "internal/small" || path == "graph/graphtest" || path == "layers/layertest" || path == "layers/onnx/onnxtest" || path == "gp/gptest" || path == "gp/likelihood/likelihoodtest"
}
