package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/train"
)

// The report names each part once, in the units of each target.
func TestReportText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.valla")
	if err := os.WriteFile(path, make([]byte, 1500), 0o644); err != nil {
		t.Fatal(err)
	}
	r := report{
		Model: path, Network: "2-5-2 tanh", Dtype: "float32", Targets: []string{"u", "v"}, NoiseStd: []float64{0.25, 30},
		Event: valla.Event{Action: valla.ActionFit, Label: "Method 7", Seconds: 1.5, Record: gp.Record{
			Rows: 90, ValidationRows: 10, Groups: []string{"dense1", "dense2"}, PriorStds: []float64{1, 0.5},
			Facts: []gp.Fact{{Name: "effective parameters", Value: 12.25}, {Name: "a 90 % interval", Value: 2}},
		}},
	}
	var out bytes.Buffer
	if err := r.print(&out); err != nil {
		t.Fatal(err)
	}
	want := `network               2-5-2 tanh, float32
rows                  90 to train, 10 to validate
posterior             Method 7
time                  1.5 s
prior std             1 of dense1
prior std             0.5 of dense2
noise std             0.25 of "u"
noise std             30 of "v"
effective parameters  12.25
a 90 % interval       2
wrote                 ` + path + " (2 kB)\n"
	if out.String() != want {
		t.Errorf("report\n%swant\n%s", &out, want)
	}
}

func TestReportOfSteps(t *testing.T) {
	for want, res := range map[string]train.Result{
		"50 in 2.0 s": {Iterations: 50, Seconds: 2, Stopped: train.Finished},
		"50 in 2.0 s, the best after 20 with validation loss 0.1250, stopped early": {
			Iterations: 50, Seconds: 2, Stopped: train.Early, History: []train.Validation{{Iteration: 20}}, BestIteration: 20, BestValue: 0.125},
		"7 in 0.0 s, interrupted": {Iterations: 7, Stopped: train.Interrupted},
	} {
		if got := steps(&res); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// If there are very many groups of weights, the first ones are listed.
func TestReportOfManyPriors(t *testing.T) {
	var e valla.Event
	for i := range 23 {
		e.Groups, e.PriorStds = append(e.Groups, fmt.Sprintf("layer%d", i)), append(e.PriorStds, float64(i))
	}
	list := priors(e)
	if len(list) != 21 || list[19] != "19 of layer19" || list[20] != "... and 3 more, see --json" {
		t.Errorf("priors %q", list)
	}
	if one := priors(valla.Event{Record: gp.Record{PriorStds: []float64{0.123456}}}); len(one) != 1 || one[0] != "0.1235" {
		t.Errorf("one prior %q", one)
	}
}

func TestNotes(t *testing.T) {
	pass := valla.Event{Record: gp.Record{Notes: []string{"A note."}}}
	if got := (&work{}).notes(pass); len(got) != 1 || got[0] != "A note." {
		t.Errorf("notes %q", got)
	}
	if got := (&work{checkpoint: "c"}).notes(pass); len(got) != 2 || !strings.HasPrefix(got[1], "No checkpoint") {
		t.Errorf("notes %q of a pass with a checkpoint", got)
	}
	pass.Result = &train.Result{}
	if got := (&work{checkpoint: "c"}).notes(pass); len(got) != 1 {
		t.Errorf("notes %q of steps with a checkpoint", got)
	}
}
