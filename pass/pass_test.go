package pass_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go"
	"gorgonia.org/tensor"
	"pgregory.net/rapid"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/listing"
	"github.com/go-valla/valla/pass"
)

// rowsOf writes a table of n rows with a target, or with classes of text, to a file.
func rowsOf(t testing.TB, path string, seed uint64, n int, classes bool) *data.Set {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	var text strings.Builder
	text.WriteString("a,b,y\n")
	for range n {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		y := fmt.Sprintf("%.5g", math.Sin(2*a)+0.5*b+0.1*rng.NormFloat64())
		if classes {
			y = []string{`"left, or so"`, "right", "up"}[min(2, int(math.Abs(a+b)*1.5))]
		}
		fmt.Fprintf(&text, "%.5g,%.5g,%s\n", a, b, y)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	table, err := data.ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	set, err := valla.Encode(table, data.ColumnOptions{}, valla.TrainOptions{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// shared holds the folders of the models, without and with classes. They are removed by TestMain.
var shared [2]struct {
	once  sync.Once
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	for i := range shared {
		os.RemoveAll(shared[i].dir)
	}
	os.Exit(code)
}

// models returns the paths of model files, by name, which no test changes: one network without a
// posterior ("map"), and with the posteriors of several methods.
func models(t testing.TB, classes bool) map[string]string {
	t.Helper()
	s := &shared[map[bool]int{true: 1}[classes]]
	s.once.Do(func() {
		var err error
		if s.dir, err = os.MkdirTemp("", "pass"); err != nil {
			t.Fatal(err)
		}
		s.paths = fitted(t, s.dir, classes)
	})
	return s.paths
}

// fitted trains a network, fits the posteriors of several methods, and writes the models to a folder.
func fitted(t testing.TB, dir string, classes bool) map[string]string {
	t.Helper()
	set := rowsOf(t, filepath.Join(dir, "sample.csv"), 1, 150, classes)
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{
		Network: valla.Network{Hidden: []int{12}}, Training: valla.Training{Iterations: 60}, Classes: classes,
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]gp.Settings{
		"valla": &gpvalla.Settings{Inducing: 6, Iterations: 20}, "kfac": &laplace.Settings{Structure: "kfac"},
		"full": &laplace.Settings{}, "diag": &laplace.Settings{Structure: "diag"},
		"lowrank": &laplace.Settings{Structure: "lowrank", Rank: 5}, "ella": &ella.Settings{Points: 40, Rank: 5}, "sfr": &sfr.Settings{},
	}
	paths := map[string]string{"map": filepath.Join(dir, "map.valla")}
	if err := m.Save(paths["map"]); err != nil {
		t.Fatal(err)
	}
	for name, s := range all {
		f, err := m.Fit(t.Context(), set, valla.FitOptions{Settings: s})
		if err != nil {
			t.Fatal(name, err)
		}
		paths[name] = filepath.Join(dir, name+".valla")
		if err := f.Save(paths[name]); err != nil {
			t.Fatal(err)
		}
	}
	asking := *m // the network alone, with a rule for the rows that need a look
	asking.Calibration = &valla.Calibration{Abstain: &calibrate.Abstain{By: calibrate.ByWidth, Level: 0.9, Most: 1}}
	if classes {
		asking.Calibration.Abstain.By, asking.Calibration.Abstain.Most = calibrate.ByProbability, 0.3
	}
	paths["asking"] = filepath.Join(dir, "asking.valla")
	if err := asking.Save(paths["asking"]); err != nil {
		t.Fatal(err)
	}
	return paths
}

// looped returns what the loop over a file writes, in batches of a size of its own.
func looped(t testing.TB, model, path string) []byte {
	t.Helper()
	m, err := valla.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	table, err := data.ReadTable(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Set(table, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(t.Context(), in.X, valla.PredictOptions{})
	if err != nil {
		t.Fatal(err)
	}
	list, err := listing.Of(t.Context(), p, listing.Options{Level: 0.95})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := listing.NewWriter(&b)
	if err := errors.Join(w.Header(list), w.Rows(list)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// finished runs all parts of a job in some order, in shares of several runners, and returns the
// manifest.
func finished(t testing.TB, j *pass.Job, dir string, rng *rand.Rand, shares, workers int) *pass.Manifest {
	t.Helper()
	for k := range shares {
		r, err := j.NewRunner(dir)
		if err != nil {
			t.Fatal(err)
		}
		parts := j.Share(k, shares)
		rng.Shuffle(len(parts), func(a, b int) { parts[a], parts[b] = parts[b], parts[a] })
		if _, err := r.Run(t.Context(), parts, workers, nil); err != nil {
			t.Fatal(err)
		}
	}
	m, err := j.Finish(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRowsDoNotDependOnParts: what the parts of a table give, one after the other, is what the
// loop writes, byte for byte, for the posteriors of all methods, also where a part is one row.
func TestRowsDoNotDependOnParts(t *testing.T) {
	for _, classes := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "new.csv")
		rowsOf(t, path, 2, 187, classes)
		for name, model := range models(t, classes) {
			want := looped(t, model, path)
			m, err := valla.Load(model)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int64{13, 57, 2100, 6500} {
				parts, err := data.Divide([]string{path}, size)
				if err != nil {
					t.Fatal(err)
				}
				var got bytes.Buffer
				for i, p := range parts {
					if err := pass.Score(t.Context(), m, p, i == 0, &got); err != nil {
						t.Fatal(err)
					}
				}
				if !bytes.Equal(got.Bytes(), want) {
					t.Errorf("%s, classes %v, %d parts: not what the loop writes", name, classes, len(parts))
				}
			}
		}
	}
}

// TestShardsAreTheLoop: the same for the shards of any number of workers.
func TestShardsAreTheLoop(t *testing.T) {
	for _, classes := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "new.csv")
		rowsOf(t, path, 2, 433, classes)
		rng := rand.New(rand.NewPCG(3, 0))
		all := models(t, classes)
		for _, name := range []string{"map", "valla"} {
			model := all[name]
			want := looped(t, model, path)
			for _, size := range []int64{1000, 1 << 20} {
				j, err := pass.New(pass.Options{Task: pass.Predict, PartSize: size * int64(1+rng.IntN(3))}, model, path)
				if err != nil {
					t.Fatal(err)
				}
				to := filepath.Join(t.TempDir(), "shards")
				m := finished(t, j, to, rng, 1+rng.IntN(3), 1+rng.IntN(3))
				var got bytes.Buffer
				if err := m.Concatenate(&got, to); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got.Bytes(), want) || m.Rows != 433 {
					t.Errorf("%s, classes %v, %d parts: %d bytes of %d rows differ from the %d of the loop", name, classes, j.Count, got.Len(), m.Rows, len(want))
				}
			}
		}
	}
}

// TestSumsDoNotDependOnWorkers: the model of all rows is the same, to the last bit, for any number
// of workers and any order of the parts. One part gives the sums of all parts, up to rounding.
func TestSumsDoNotDependOnWorkers(t *testing.T) {
	for _, classes := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "all.csv")
		held := rowsOf(t, filepath.Join(dir, "held.csv"), 5, 60, classes)
		rowsOf(t, path, 4, 300, classes)
		rng, all := rand.New(rand.NewPCG(6, 0)), models(t, classes)
		for _, name := range []string{"valla", "kfac", "full", "diag", "ella"} {
			var first []byte
			var m summedJob
			for range 3 {
				m = summed(t, all[name], path, 1500, rng)
				model := made(t, m, held)
				if first == nil {
					first = model
				} else if !bytes.Equal(first, model) {
					t.Errorf("%s, classes %v: the model depends on the workers", name, classes)
				}
			}
			alike(t, fmt.Sprint(name, ", classes ", classes), m, summed(t, all[name], path, 1<<20, rng))
		}
	}
}

// summedJob is a finished job of sums.
type summedJob struct {
	*pass.Job
	*pass.Manifest
	dir string
}

func summed(t testing.TB, model, path string, size int64, rng *rand.Rand) summedJob {
	t.Helper()
	j, err := pass.New(pass.Options{Task: pass.Fit, PartSize: size}, model, path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return summedJob{j, finished(t, j, dir, rng, 1+rng.IntN(3), 1+rng.IntN(3)), dir}
}

// made returns the bytes of the model file of a job.
func made(t testing.TB, m summedJob, held *data.Set) []byte {
	t.Helper()
	model, err := m.Manifest.Model(t.Context(), m.Job, m.dir, held, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.valla")
	if err := model.Save(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// alike compares the predictions of the models of two jobs.
func alike(t testing.TB, what string, a, b summedJob) {
	t.Helper()
	var got [2][]float64
	for i, s := range []summedJob{a, b} {
		m, err := s.Manifest.Model(t.Context(), s.Job, s.dir, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		x := tensor.New(tensor.WithShape(3, 2), tensor.WithBacking([]float64{0, 0, 1, -1, 3, 2}))
		g, err := m.Latent(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = g.Cov
	}
	for i := range got[0] {
		if math.Abs(got[0][i]-got[1][i]) > 1e-6*slices.Max(got[1]) {
			t.Errorf("%s: covariances %g of %d parts and %g of %d", what, got[0], a.Count, got[1], b.Count)
			return
		}
	}
}

// TestResume: parts that are finished are not done again; those that were lost are.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	path, shards := filepath.Join(dir, "new.csv"), filepath.Join(dir, "shards")
	rowsOf(t, path, 2, 200, false)
	all := models(t, false)
	j, err := pass.New(pass.Options{Task: pass.Predict, PartSize: 1000}, all["map"], path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	finished(t, j, shards, rng, 2, 1)
	first, second := filepath.Join(shards, "part-000001.csv"), filepath.Join(shards, "part-000002.csv")
	before, err := os.Stat(first)
	if err == nil {
		err = os.Remove(second)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Finish(shards); err == nil || !strings.Contains(err.Error(), "1 of ") || !strings.HasSuffix(err.Error(), ": 2") {
		t.Errorf("a lost shard: error %v", err)
	}
	finished(t, j, shards, rng, 1, 2)
	if after, err := os.Stat(first); err != nil || after.ModTime() != before.ModTime() {
		t.Errorf("a finished part was done again: %v", err)
	}
}

// TestRefusals: what does not belong together is refused, in one line.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path, other, shards := filepath.Join(dir, "new.csv"), filepath.Join(dir, "other.csv"), filepath.Join(dir, "shards")
	rowsOf(t, path, 2, 200, false)
	rowsOf(t, other, 3, 200, false)
	all := models(t, false)
	job := func(o pass.Options, model string, paths ...string) *pass.Job {
		t.Helper()
		j, err := pass.New(o, all[model], paths...)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	predict := pass.Options{Task: pass.Predict, PartSize: 2000}
	j := job(predict, "map", path)
	m := finished(t, j, shards, rand.New(rand.NewPCG(1, 0)), 1, 1)
	expect := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", what, err, want)
		}
	}
	expect("another model", job(predict, "kfac", path).Join(shards), "its model has")
	expect("other data", job(predict, "map", other).Join(shards), "its data are")
	expect("more data", job(predict, "map", path, other).Join(shards), "its data are")
	expect("other parts", job(pass.Options{Task: pass.Predict, PartSize: 3000}, "map", path).Join(shards), "its options are")
	for what, o := range map[string]pass.Options{"task": {}, "samples": {Task: pass.Predict, Link: valla.MonteCarlo},
		"level": {Task: pass.Predict, Level: math.NaN()}, "level of sums": {Task: pass.Fit, Level: math.Inf(1)},
		"levels": {Task: pass.Predict, Quantiles: []float64{1}}, "thresholds": {Task: pass.Predict, Above: []float64{math.NaN()}}, "quantiles of sums": {Task: pass.Fit, Quantiles: []float64{0.5}}} {
		_, err := pass.New(o, all["map"], path)
		expect(what, err, "expected")
	}
	empty := filepath.Join(dir, "empty.parquet")
	if err := parquet.WriteFile(empty, []struct{ A float64 }{}); err != nil {
		t.Fatal(err)
	}
	_, err := pass.New(predict, all["map"], empty)
	expect("no rows", err, "empty.parquet: no rows")
	_, err = pass.New(predict, all["map"], "-")
	expect("the standard input", err, "standard input")
	fit := job(pass.Options{Task: pass.Fit}, "sfr", path)
	r, err := fit.NewRunner(filepath.Join(dir, "sums"))
	if err == nil {
		_, err = r.Do(t.Context(), 0)
	}
	expect("no sums", err, "no function of sums")

	shard := filepath.Join(shards, "part-000001.csv")
	text, err := os.ReadFile(shard)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(shard, text, 0o644); err != nil {
		t.Fatal(err)
	}
	expect("a damaged shard", m.Concatenate(new(bytes.Buffer), shards), "part-000001.csv: damaged")
	record := filepath.Join(shards, "part-000002.json")
	if text, err = os.ReadFile(record); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, bytes.Replace(text, []byte(j.Key()), []byte("0123"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = j.Finish(shards)
	expect("a shard of another pass", err, "a shard of another pass")
	rowsOf(t, path, 7, 201, false)
	_, err = pass.Load(shards)
	expect("changed data", err, "has changed since the pass began")
}

// FuzzRecords: what is read from a folder of shards is a job or a record, or an error.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"format": "valla pass 1", "task": "predict", "part_size": 10, "model": "m", "model_sha256": "0", "data": [{"path": "none.csv", "size": 1, "modified": 2}], "parts": 1}`))
	f.Add([]byte(`{"parts": -1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "job.json"), text, 0o644); err != nil {
			t.Fatal(err)
		}
		if j, err := pass.Load(dir); err == nil && j.Count < 1 {
			t.Errorf("a job of %d parts", j.Count)
		}
	})
}

// TestOptions: New fills in the defaults, refuses files that are not there, and shares divide the
// parts among workers without a gap.
func TestOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.csv")
	rowsOf(t, path, 2, 100, false)
	all := models(t, false)
	j, err := pass.New(pass.Options{Task: pass.Predict}, all["map"], path)
	if err != nil {
		t.Fatal(err)
	}
	if j.PartSize != 64<<20 || j.Level != 0.95 || j.Count != 1 {
		t.Errorf("a job of %d parts of %d bytes with the level %g", j.Count, j.PartSize, j.Level)
	}
	for _, c := range [][2]string{{all["map"], path + "x"}, {path + "x", path}} {
		if _, err := pass.New(pass.Options{Task: pass.Predict}, c[0], c[1]); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: error %v", c, err)
		}
	}
	if _, err := pass.New(pass.Options{Task: pass.Predict}, all["map"]); !errors.Is(err, valla.ErrSetting) {
		t.Errorf("no files of rows: error %v", err)
	}
	rapid.Check(t, func(t *rapid.T) {
		j := &pass.Job{Count: rapid.IntRange(1, 40).Draw(t, "parts")}
		n := rapid.IntRange(1, 50).Draw(t, "workers")
		var parts []int
		for k := range n {
			parts = append(parts, j.Share(k, n)...)
		}
		slices.Sort(parts)
		if len(parts) != j.Count || parts[0] != 0 || parts[len(parts)-1] != j.Count-1 || len(slices.Compact(parts)) != j.Count {
			t.Fatalf("%d workers do the parts %v of %d", n, parts, j.Count)
		}
	})
}

// TestKey: the path of the model does not change a job, and every option does.
func TestKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.csv")
	rowsOf(t, path, 2, 100, false)
	all := models(t, false)
	o := pass.Options{Task: pass.Predict, PartSize: 1000}
	j, err := pass.New(o, all["map"], path)
	if err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved.valla")
	text, err := os.ReadFile(all["map"])
	if err == nil {
		err = os.WriteFile(moved, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if same, err := pass.New(o, moved, path); err != nil || same.Key() != j.Key() {
		t.Errorf("the same model elsewhere: error %v", err)
	}
	for what, o := range map[string]pass.Options{
		"task": {Task: pass.Fit, PartSize: 1000}, "size": {Task: pass.Predict, PartSize: 1001}, "header": {Task: pass.Predict, PartSize: 1000, Header: "yes"},
		"level": {Task: pass.Predict, PartSize: 1000, Level: 0.9}, "link": {Task: pass.Predict, PartSize: 1000, Link: valla.Probit},
		"list of quantiles":  {Task: pass.Predict, PartSize: 1000, Quantiles: []float64{0.5}},
		"list of thresholds": {Task: pass.Predict, PartSize: 1000, Above: []float64{0.5}},
	} {
		if other, err := pass.New(o, all["map"], path); err != nil || other.Key() == j.Key() {
			t.Errorf("another %s: the same key, error %v", what, err)
		}
	}
}

// TestRunEnds: Run reports each part once, ends with its context, and returns the first error.
func TestRunEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.csv")
	rowsOf(t, path, 2, 200, false)
	j, err := pass.New(pass.Options{Task: pass.Predict, PartSize: 1000}, models(t, false)["map"], path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.NewRunner(filepath.Join(t.TempDir(), "shards"))
	if err != nil {
		t.Fatal(err)
	}
	calls, last, sum := 0, 0, int64(0)
	records, err := r.Run(t.Context(), j.Share(0, 1), 3, func(done, all int, rows int64) { calls, last, sum = calls+1, done, rows })
	if err != nil || calls != j.Count || last != j.Count || sum != 200 {
		t.Errorf("%d calls, the last for %d parts of %d rows; error %v", calls, last, sum, err)
	}
	for i, record := range records {
		if record.Part != i {
			t.Errorf("record %d is of part %d", i, record.Part)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, j.Share(0, 1), 2, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	if err := os.WriteFile(path, []byte("a,b,y\n1,2,3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := j.NewRunner(filepath.Join(t.TempDir(), "again"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Run(t.Context(), j.Share(0, 1), 2, nil); err == nil || !strings.Contains(err.Error(), "has changed since the pass began") {
		t.Errorf("changed data: error %v", err)
	}
}

// TestRunsOverlap: runs that overlap leave the number of threads that there was before the first.
func TestRunsOverlap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new.csv")
	rowsOf(t, path, 2, 200, false)
	j, err := pass.New(pass.Options{Task: pass.Predict, PartSize: 1000}, models(t, false)["map"], path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.NewRunner(filepath.Join(t.TempDir(), "shards"))
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.SetThreads(kernel.Threads())
	kernel.SetThreads(8)
	run := func(first func()) {
		if _, err := r.Run(t.Context(), j.Share(0, 1), 2, func(done, _ int, _ int64) {
			if done == 1 {
				first()
			}
		}); err != nil {
			t.Error(err)
		}
	}
	var during []int
	began, over, ended := make(chan bool), make(chan bool), make(chan bool)
	run(func() {
		during = append(during, kernel.Threads())
		go func() {
			run(func() {
				during = append(during, kernel.Threads())
				close(began)
				<-over
				during = append(during, kernel.Threads())
			})
			close(ended)
		}()
		<-began
	})
	close(over)
	<-ended
	if after := kernel.Threads(); after != 8 || !slices.Equal(during, []int{4, 2, 4}) {
		t.Errorf("%d threads during the runs and %d after them; want [4 2 4] and 8", during, after)
	}
}

// TestChangedModel: sums are no sums of another model at the path of the job's, which is an error.
func TestChangedModel(t *testing.T) {
	dir := t.TempDir()
	path, model := filepath.Join(dir, "all.csv"), filepath.Join(dir, "m.valla")
	rowsOf(t, path, 4, 200, false)
	copied := func(name string) {
		t.Helper()
		text, err := os.ReadFile(models(t, false)[name])
		if err == nil {
			err = os.WriteFile(model, text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copied("diag")
	s := summed(t, model, path, 1500, rand.New(rand.NewPCG(8, 0)))
	copied("kfac")
	_, err := s.Manifest.Model(t.Context(), s.Job, s.dir, nil, 0)
	_, listed := s.Arrays()
	for _, err := range []error{err, listed} {
		if err == nil || !strings.Contains(err.Error(), "m.valla has changed since the pass began") {
			t.Errorf("error %v", err)
		}
	}
}

// TestAdd: the sums that Add has written are those that Model makes itself.
func TestAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.csv")
	rowsOf(t, path, 4, 200, false)
	s := summed(t, models(t, false)["diag"], path, 1500, rand.New(rand.NewPCG(8, 0)))
	want := made(t, s, nil)
	arrays, err := s.Arrays()
	if err != nil || len(arrays) == 0 {
		t.Fatalf("%d arrays, error %v", len(arrays), err)
	}
	for _, a := range arrays {
		if err := s.Add(s.dir, a); err != nil {
			t.Fatal(a.Name, err)
		}
	}
	if got := made(t, s, nil); !bytes.Equal(got, want) {
		t.Error("the model of written sums is another one")
	}
	if err := s.Add(s.dir, pass.Array{Name: "none", Shape: []int{1}}); err == nil {
		t.Error("an array that no shard has was added")
	}
}
