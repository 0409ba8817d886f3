package experiments

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla/experiments/internal/report"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/train"
)

const own = `name: own
about: a network and a method on a built-in set
data: sine
network: {hidden: [6]}
map: {iterations: 30, validation: 0, keep-last: true}
methods:
  - {method: map}
  - {method: valla, inducing: [3, 4], iterations: 3}
profiles:
  short: {}
  full: {map: {iterations: 60}}
`

// file writes an experiment to a file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The embedded experiments are those that there are to be. Each can be opened under each of
// its profiles and takes the overrides of the command line.
func TestList(t *testing.T) {
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
		for _, profile := range e.Profiles {
			e, err := Open(e.Name, profile)
			if err != nil || e.Profile != profile || e.About == "" {
				t.Fatalf("%+v, error %v", e, err)
			}
			o := Overrides{Seeds: []uint64{1}, Inducing: []int{10, 20}, Iterations: 5, Methods: []string{"map", "valla"}}
			if err := o.Apply(e); err != nil {
				t.Errorf("%s %s: %v", e.Name, profile, err)
			}
		}
	}
	if got := strings.Join(names, " "); got != "toy uci year airline taxi airline-nycflights13 taxi-green mnist fmnist cifar10" {
		t.Errorf("experiments %s", got)
	}
	if got := strings.Join(Methods(), " "); got != "map "+strings.Join(method.Names(), " ") {
		t.Errorf("methods %s", got)
	}
}

func TestOpen(t *testing.T) {
	for _, name := range []string{"none", "", "../toy", "own.yml2"} {
		if e, err := Open(name, ""); e != nil || !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "expected one of toy, uci, year, ") {
			t.Errorf("%q: %+v, error %v", name, e, err)
		}
	}
	if e, err := Open(file(t, own), ""); err != nil || e.Name != "own" || e.Profile != "short" {
		t.Errorf("%+v, error %v", e, err)
	}
	for _, c := range []struct{ name, profile, want string }{
		{"mnist", "slow", `mnist.yaml: profiles: expected one of the profiles full, quick, found "slow"`},
		{"mnist", "../../q", `mnist.yaml: profiles: expected one of the profiles full, quick, found "../../q"`},
		{file(t, strings.Replace(own, "sine", "cosine", 1)), "", "own.yaml: data: expected one of airline, "},
		{file(t, strings.Replace(own, "inducing", "m", 1)), "", "own.yaml:8: methods[1].m: expected one of the keys "},
		{"missing.yaml", "", "no such file"},
	} {
		if e, err := Open(c.name, c.profile); e != nil || err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %+v, error %v, want %q", c.name, e, err, c.want)
		}
	}
}

// An experiment is run, shown and reported, and a second run finds it finished. The report names a
// damaged plan.
func TestRun(t *testing.T) {
	path, dir := file(t, own), t.TempDir()
	rows, fresh, steps := []string{}, 0, map[string]int{}
	o := Options{Dir: dir, Data: t.TempDir(), Commands: []string{"valla experiment run own.yaml"},
		OnCell: func(c *Cell, isFresh bool) {
			rows = append(rows, c.Row)
			if isFresh {
				fresh++
			}
		},
		OnProgress: func(what string, p train.Progress) { steps[what+", "+p.Unit] = p.Done },
	}
	for range 2 {
		e, err := Open(path, "full")
		if err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), e, o); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(rows, "|"); got != "MAP|VaLLA 3|VaLLA 4|MAP|VaLLA 3|VaLLA 4" || fresh != 3 {
		t.Errorf("rows %s, of which %d were fresh", got, fresh)
	}
	if steps["sine MAP, steps"] != 60 || steps["sine VaLLA 4 seed 0, steps"] != 3 || steps["sine VaLLA 4 seed 0, predicted rows"] != 300 {
		t.Errorf("progress %v", steps)
	}
	var out bytes.Buffer
	if err := WriteTables(&out, dir, "own", "full"); err != nil || !strings.Contains(out.String(), "VaLLA 4") {
		t.Errorf("tables %s, error %v", &out, err)
	}
	out.Reset()
	if err := WriteTables(&out, dir, "own", "short"); err != nil || out.Len() != 0 {
		t.Errorf("tables %s of what was not run, error %v", &out, err)
	}
	writeDamaged(t, dir)
	files, damaged, err := Report(dir)
	if err != nil || len(files) != 2 || len(damaged) != 1 || !strings.Contains(damaged[0], "plan.json") {
		t.Fatalf("files %q, damaged %q, error %v", files, damaged, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"VaLLA 3", "valla experiment run own.yaml", "valla experiment run mnist"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %q", f, want)
			}
		}
	}
}

// writeDamaged writes a plan that was cut off, of another profile.
func writeDamaged(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "own", "damaged"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "own", "damaged", "plan.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRunErrors(t *testing.T) {
	e, err := Open("mnist", "quick")
	if err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), e, Options{Data: t.TempDir(), Dir: t.TempDir()})
	if !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "experiments: mnist: ") || !strings.Contains(err.Error(), "valla data get mnist") || strings.Contains(err.Error(), "\n") {
		t.Errorf("absent data: %v", err)
	}
	if e, err = Open(file(t, own), ""); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ended, e, Options{Dir: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	none := filepath.Join(t.TempDir(), "nonexist")
	if _, _, err := Report(none); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), none) {
		t.Errorf("no folder: %v", err)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("the report made the folder")
	}
}

// Rows that are only planned stand beside the published numbers by their labels, which are the
// labels of the paper's tables. Finished ones do so by their method and settings.
func TestPublishedLabels(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"year", "airline", "taxi", "mnist", "fmnist"} {
		e, err := Open(name, "quick")
		if err != nil {
			t.Fatal(err)
		}
		// Data are missing, so that the plan is all that is left.
		if err := Run(t.Context(), e, Options{Data: t.TempDir(), Dir: dir}); !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	r, err := report.New(dir, nil)
	if err != nil || len(r.Sections) != 5 {
		t.Fatalf("%d sections, error %v", len(r.Sections), err)
	}
	for _, s := range r.Sections {
		published := map[string]bool{}
		for _, row := range s.Data[0].Table.Rows {
			for i, c := range s.Data[0].Table.Columns {
				if c.Source == "printed" && row.Cells[i].Text != "" {
					published[row.Method] = true
				}
			}
		}
		for _, want := range []string{"MAP", "LLA Diag", "LLA KFAC", "LLA last-layer", "LLA last-layer KFAC", "VaLLA 100", "VaLLA 200"} {
			if !published[want] {
				t.Errorf("%s: nothing printed stands beside %s", s.Name, want)
			}
		}
	}
}
