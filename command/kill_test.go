package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/experiments"
)

// killed is a command that TestKills kills again and again.
type killed struct {
	name string
	args []string
	out  string // the file that it writes; "" for several
	// read returns what the outputs say, in a form that is the same for the same result; "" where
	// there are no outputs. An error says that an output is torn.
	read func(dir string) (string, error)

	whole string        // what the outputs of an undisturbed run say
	took  time.Duration // by that run
}

// damage counts what went wrong.
type damage struct{ kills, torn, lost, different, leftovers int }

// TestKills kills train, fit, predict and experiment with SIGKILL at random moments, as many times
// as the environment variable VALLA_KILLS says. After each kill no output may be torn and an
// output that was there must still be whole; a run that is let finish must give the numbers of an
// undisturbed one and leave no temporary files.
func TestKills(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("VALLA_KILLS"))
	if err != nil {
		t.Skip("VALLA_KILLS has no number of kills")
	}
	dir, rng := fitted(t), rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	writeTable(t, filepath.Join(dir, "many.csv"), example(20_000, 5))
	if err := os.WriteFile(filepath.Join(dir, "my.yaml"), []byte(killedExperiment), 0o644); err != nil {
		t.Fatal(err)
	}
	list := []*killed{
		{name: "train", out: "t.valla", read: modelOf("t.valla"),
			args: strings.Fields("train train.csv --hidden 10 --iterations 4000 --batch-size 20 --checkpoint t.zip --resume --out t.valla")},
		{name: "fit", out: "f.valla", read: modelOf("f.valla"),
			args: strings.Fields("fit train.csv --model map.valla --inducing 8 --iterations 300 --patience 0 --checkpoint f.zip --resume --out f.valla")},
		{name: "predict", out: "p.csv", read: textOf("p.csv"), args: strings.Fields("predict many.csv --model m.valla --out p.csv")},
		{name: "parts", out: "p.csv", read: textOf("p.csv"),
			args: strings.Fields("predict many.csv --model m.valla --parts shards --part-size 64KiB --out p.csv")},
		{name: "passes", out: "f.valla", read: modelOf("f.valla"),
			args: strings.Fields("fit many.csv --model m.valla --passes sums --part-size 64KiB --out f.valla")},
		{name: "experiment", read: cellsOf("runs"), args: strings.Fields("experiment run my.yaml --keep-models")},
	}
	for _, k := range list {
		k.undisturbed(t, dir)
	}
	sums := map[string]*damage{}
	for i := 0; i < n; {
		k := list[rng.IntN(len(list))]
		if sums[k.name] == nil {
			sums[k.name] = &damage{}
		}
		i += k.round(t, dir, rng, sums[k.name])
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		s := *sums[name]
		t.Logf("%s: %+v", name, s)
		if s.torn+s.lost+s.different+s.leftovers > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

const killedExperiment = `name: my
data: toy1d
network: {hidden: [8]}
map: {iterations: 2000}
methods: [{method: map}, {method: lla}, {method: valla, optimizer: adam, inducing: 4, iterations: 300, patience: 0}]
`

// undisturbed runs the command once, and removes the files that the command has written.
func (k *killed) undisturbed(t *testing.T, dir string) {
	t.Helper()
	start := time.Now()
	run(t, dir, k.args...)
	k.took = time.Since(start)
	var err error
	if k.whole, err = k.read(dir); err != nil || k.whole == "" {
		t.Fatalf("%s: %.100q, error %v", k.name, k.whole, err)
	}
	k.clean(t, dir)
}

// clean removes the outputs and the checkpoints.
func (k *killed) clean(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"t.valla", "t.zip", "f.valla", "f.zip", "p.csv", "runs", "shards", "sums"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// round kills the command a few times, lets it finish, and looks at what is there each time. It
// returns the number of kills. Half of the rounds begin with an output of an earlier run.
func (k *killed) round(t *testing.T, dir string, rng *rand.Rand, sum *damage) int {
	t.Helper()
	k.clean(t, dir)
	if k.out != "" && rng.IntN(2) == 0 {
		run(t, dir, k.args...)
		for _, name := range []string{"t.zip", "f.zip"} {
			os.Remove(filepath.Join(dir, name))
		}
	}
	kills := 1 + rng.IntN(5)
	for range kills {
		before, _ := k.read(dir)
		k.kill(t, dir, time.Duration(rng.Float64()*1.1*float64(k.took)))
		now, err := k.read(dir)
		switch {
		case err != nil:
			t.Logf("%s: %v", k.name, err)
			sum.torn++
		case before != "" && now != before && !strings.HasPrefix(now, before):
			sum.lost++
		}
	}
	r := run(t, dir, k.args...)
	if now, err := k.read(dir); err != nil || now != k.whole {
		t.Logf("%s: exit code %d, stderr %q, error %v", k.name, r.code, r.stderr, err)
		sum.different++
	}
	sum.leftovers += leftovers(t, dir)
	sum.kills += kills
	return kills
}

// kill starts the command and kills it after some time.
func (k *killed) kill(t *testing.T, dir string, after time.Duration) {
	t.Helper()
	cmd := program(k.args...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill() // it may have ended
	_ = cmd.Wait()
}

// leftovers counts temporary files, and files of unfinished cells.
func leftovers(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		work := filepath.Base(filepath.Dir(path)) == "work"
		if strings.HasPrefix(name, ".") && path != dir || work && (strings.HasSuffix(name, ".checkpoint") || strings.HasSuffix(name, ".partial.json")) {
			t.Log("left over:", path)
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// modelOf says what a model file predicts.
func modelOf(name string) func(string) (string, error) {
	x := data.Toy(3).X
	return func(dir string) (string, error) {
		m, err := valla.Load(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		pairs := x.Float64s()[:2*(x.Shape()[0]/2)]
		p, err := m.Predict(context.Background(), matrix(slices.Clone(pairs), len(pairs)/2, 2), valla.PredictOptions{})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%x %x", p.Mean, p.Variance), nil
	}
}

// textOf returns a file that must end with a whole line.
func textOf(name string) func(string) (string, error) {
	return func(dir string) (string, error) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			return "", nil
		}
		if err == nil && bytes.Count(text, []byte("\n")) != 20_001 {
			err = fmt.Errorf("%s is torn: %d bytes", name, len(text))
		}
		return string(text), err
	}
}

// cellsOf lists the scores of finished cells, in their order, whose models must load.
func cellsOf(name string) func(string) (string, error) {
	return func(dir string) (string, error) {
		var all strings.Builder
		for _, row := range []string{"map", "lla", "valla-4-adam-m4"} {
			paths, err := filepath.Glob(filepath.Join(dir, name, "my", "full", "cells", "toy1d-"+row+"-seed0-*.json"))
			if err != nil || len(paths) == 0 {
				return all.String(), err
			}
			text, err := os.ReadFile(paths[0])
			if err != nil {
				return "", err
			}
			var c experiments.Cell
			if err := json.Unmarshal(text, &c); err != nil {
				return "", fmt.Errorf("%s: %w", paths[0], err)
			}
			if _, err := valla.Load(filepath.Join(dir, name, "my", "full", "models", strings.TrimSuffix(filepath.Base(paths[0]), ".json")+".valla")); err != nil {
				return "", err
			}
			fmt.Fprintf(&all, "%s %v %v;", c.Row, c.Scores, c.Facts)
		}
		return all.String(), nil
	}
}
