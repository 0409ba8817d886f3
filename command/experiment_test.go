package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments"
)

// TestExperimentCommand runs, skips what is finished, reports, and refuses.
func TestExperimentCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if list := must(t, dir, "experiment", "list"); !strings.Contains(list, "uci") || !strings.Contains(list, "mnist") {
		t.Errorf("list %q", list)
	}
	args := []string{"experiment", "run", "toy", "--data", "sets", "--m", "3,6", "--iterations", "20", "--method", "map,lla,valla", "--seed", "0"}
	// On a busy machine it takes so long that it reports its progress on stderr.
	if r := run(t, dir, args...); r.code != 0 || !strings.Contains(r.stdout, "VaLLA 6, without") || !strings.Contains(r.stdout, "seed 0") {
		t.Errorf("exit code %d, output %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	if out := must(t, dir, args...); strings.Contains(out, "seed 0") || !strings.Contains(out, "VaLLA 6, without") {
		t.Errorf("output of a run of what is finished %q", out)
	}
	var doc map[string][]experiments.Cell
	if err := json.Unmarshal([]byte(must(t, dir, append(args, "--json")...)), &doc); err != nil || len(doc["toy"]) != 1+4+2+1+1+2+2 {
		t.Errorf("%d cells as JSON, error %v", len(doc["toy"]), err)
	}
	if out := must(t, dir, "experiment", "report"); !strings.Contains(out, filepath.Join("runs", "report.html")) {
		t.Errorf("output %q", out)
	}
	page, err := os.ReadFile(filepath.Join(dir, "runs", "report.html"))
	if err != nil || !strings.Contains(string(page), "valla experiment run toy --profile full --seed=0 --m=3,6 --iterations=20 --method=map,lla,valla") {
		t.Errorf("the report lacks the command; error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "my.yaml"), []byte("name: my\ndata: toy1d\nmethod: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	fails(t, dir, 1, "my.yaml:3: method: expected one of the keys name, about", "experiment", "run", "my.yaml")
	fails(t, dir, 2, `"magic"`, "experiment", "run", "toy", "--method", "magic")
	fails(t, dir, 1, "full, quick", "experiment", "run", "toy", "--profile", "fast")
	fails(t, dir, 2, `"toys"`, "experiment", "run", "toys")
	fails(t, dir, 2, "name of an experiment", "experiment", "run")
	fails(t, dir, 2, "runs", "experiment", "runs")
	fails(t, dir, 1, `get it with "valla data get boston"`, "experiment", "run", "uci", "--data", "sets")
	fails(t, dir, 1, `get it with "valla data get mnist"`, "experiment", "run", "mnist", "--data", "sets")
}

// TestReportWithoutRun: without a run the report has the published results alone, and a folder that
// the user names must be there.
func TestReportWithoutRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fails(t, dir, 1, "no such file", "experiment", "report", "--dir", "none")
	if out := must(t, dir, "experiment", "report"); !strings.Contains(out, filepath.Join("runs", "report.md")) {
		t.Errorf("output %q", out)
	}
}
