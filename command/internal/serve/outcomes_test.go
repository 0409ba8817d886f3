package serve

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
)

// collecting is a server that takes outcomes into a folder.
func collecting(t *testing.T) (r *running, dir string) {
	t.Helper()
	dir = t.TempDir()
	return start(t, func(o *Options) { o.Outcomes = dir }, "numbers", "classes"), dir
}

// withTargets returns a request with rows of a set and their targets, moved by a number.
func withTargets(set *data.Set, by float64) string {
	var rows []string
	x, y := set.X.Float64s(), set.Y.Float64s()
	for i := range y {
		rows = append(rows, fmt.Sprintf(`{"a":%g,"b":%g,"y":%g}`, x[2*i], x[2*i+1], y[i]+by))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// fileOf returns the path of the only file of a folder.
func fileOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, error %v", files, err)
	}
	return files[0]
}

// TestOutcomes: labels by row and by the id of a request adapt the intervals, each row of a request once, and the metrics say so.
func TestOutcomes(t *testing.T) {
	r, dir := collecting(t)
	var now state
	r.post("/models/numbers/outcomes", withTargets(table("numbers", 200, 5), 3), http.StatusOK, &now)
	if now.Added != 200 || now.Labels != 200 || now.Coverage == nil || now.Limit < 5 {
		t.Errorf("labels that are all off: %+v", now)
	}
	a, body := r.send(http.MethodPost, "/models/numbers/predict", "application/json", []byte(`{"rows":[[0.5,100],[1,90]]}`), "X-Request-Id", "mine")
	var answer struct {
		Predictions []struct{ Mean, Std, Lower, Upper float64 }
	}
	if err := json.Unmarshal(body, &answer); err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%s, error %v", body, err)
	}
	for _, p := range answer.Predictions {
		if math.Abs(p.Upper-p.Mean-now.Limit*p.Std) > 1e-9 || math.Abs(p.Mean-p.Lower-now.Limit*p.Std) > 1e-9 {
			t.Errorf("interval %+v, expected %g standard deviations", p, now.Limit)
		}
	}
	two := `[{"id":"mine","row":0,"target":4},{"id":"mine","row":1,"target":5}]`
	for _, added := range []int{2, 0} {
		if r.post("/models/numbers/outcomes", two, http.StatusOK, &now); now.Added != added || now.Labels != 202 {
			t.Errorf("%+v, expected %d new labels", now, added)
		}
	}
	if text := r.metricsText(); !strings.Contains(text, `valla_outcomes_total{model="numbers"} 202`) || !strings.Contains(text, `valla_interval_coverage{model="numbers"}`) || !strings.Contains(text, `valla_input_psi{input="a",model="numbers"}`) {
		t.Error("the metrics lack the outcomes")
	}
	if r.post("/models/numbers/outcomes", `[{"id":"A17","a":0.5,"b":100,"y":3,"target":7}]`, http.StatusOK, &now); now.Added != 1 || now.Labels != 203 {
		t.Errorf("a row with an id: %+v", now)
	}
	if text, err := os.ReadFile(fileOf(t, dir)); err != nil || strings.Count(string(text), "\n") != 204 {
		t.Errorf("%d lines, error %v", strings.Count(string(text), "\n"), err)
	}
	for path, want := range map[string]string{
		`numbers/outcomes [{"id":"other","row":0,"target":4}]`:          "no prediction of the request",
		`numbers/outcomes [{"id":"mine","row":2,"target":4}]`:           "row 2 of a request with 2 rows",
		`numbers/outcomes [{"id":"mine","row":0}]`:                      "expected the id of a request, a row and a target",
		`numbers/outcomes [{"id":"mine","row":0,"target":null}]`:        "expected the id of a request, a row and a target",
		`numbers/outcomes [{"id":"mine","rwo":1,"target":4}]`:           "did you mean row?",
		`numbers/outcomes [{"id":"mine","row":null,"target":4}]`:        "expected the id of a request, a row and a target",
		`numbers/outcomes [{"a":1,"b":2}]`:                              "expected a number",
		`numbers/outcomes [{"a":1,"b":2,"y":3},{"a":1,"b":2,"y":null}]`: "outcome 1 (counting from 0): expected a number \\\"y\\\"",
		`numbers/outcomes [{"a":null,"b":2,"y":3}]`:                     "expected a number, found",
		`numbers/outcomes [null]`:                                       "expected a number",
		`numbers/outcomes []`:                                           "expected JSON",
		`classes/outcomes [{"a":1,"b":2,"kind":1}]`:                     "takes no outcomes",
	} {
		to, body, _ := strings.Cut(path, " ")
		if a, got := r.send(http.MethodPost, "/models/"+to, "application/json", []byte(body)); a.StatusCode < 400 || a.StatusCode >= 500 || !strings.Contains(string(got), want) || strings.Contains(string(got), "%!") {
			t.Errorf("%s: status %d, %s", path, a.StatusCode, got)
		}
	}
	if s := r.Server.models[0].current.outcomes.state(); s.Labels != 203 || s.Limit != now.Limit {
		t.Errorf("after outcomes that were refused: %+v, expected %+v", s, now)
	}
}

// TestOutcomesEverywhere: quantiles and intervals of all levels adapt, in the inference protocol as well, whose requests have ids for labels.
func TestOutcomesEverywhere(t *testing.T) {
	r, _ := collecting(t)
	var now state
	r.post("/models/numbers/outcomes", withTargets(table("numbers", 200, 5), 3), http.StatusOK, &now)
	p := r.predicted("numbers", 0.5, 100)
	mean, std := p.Mean[0], p.Std()[0]
	var plain struct{ Predictions []map[string]float64 }
	r.post("/models/numbers/predict?quantiles=0.025,0.05,0.5,0.95,0.975&level=0.9", `[[0.5,100]]`, http.StatusOK, &plain)
	got := plain.Predictions[0]
	if math.Abs(got["q0.975"]-mean-now.Limit*std) > 1e-9 || math.Abs(got["q0.5"]-mean) > 1e-9 || got["q0.95"] != got["upper"] || got["q0.95"] >= got["q0.975"] || got["q0.95"] < mean+3*std {
		t.Errorf("%v, expected %g ± %g·%g", got, mean, now.Limit, std)
	}
	var answer inferResponse
	body := `{"id":"by protocol","inputs":[{"name":"a","shape":[1],"datatype":"FP64","data":[0.5]},{"name":"b","shape":[1],"datatype":"FP64","data":[100]}],"outputs":[{"name":"quantiles","parameters":{"levels":[0.025,0.975]}}]}`
	r.post("/v2/models/numbers/infer", body, http.StatusOK, &answer)
	if q, ok := answer.Outputs[0].Data.([]any); !ok || len(q) != 2 || q[1] != got["q0.975"] || q[0] != got["q0.025"] {
		t.Errorf("%v, expected %v", answer.Outputs, got)
	}
	r.post("/models/numbers/outcomes", `[{"id":"by protocol","target":4},{"id":"by protocol","row":0,"target":9}]`, http.StatusOK, &now)
	if now.Added != 1 || now.Labels != 201 {
		t.Errorf("%+v, expected one new label", now)
	}
}

// TestOutcomesStay: a server that reads the file again has the same state, without a line that was cut off; a line that is none is an
// error with its number.
func TestOutcomesStay(t *testing.T) {
	r, dir := collecting(t)
	var now state
	r.post("/models/numbers/outcomes", withTargets(table("numbers", 300, 5), 1), http.StatusOK, &now)
	path := fileOf(t, dir)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	open := func() (*outcomes, error) {
		return openOutcomes(&version{name: "numbers", hash: r.Server.models[0].present(), model: r.models["numbers"], drift: newDrift(r.models["numbers"].Profile())}, Options{Outcomes: dir}.complete())
	}
	for _, tail := range []string{"", `{"score":0.`, `{"score":0.5}`} {
		put(t, path, append(whole[:len(whole):len(whole)], tail...))
		o, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if s := o.state(); s.Labels != 300 || s.Limit != now.Limit || *s.Coverage != *now.Coverage {
			t.Errorf("after %q: %+v, expected %+v", tail, s, now)
		}
		if _, err := o.add([]outcome{{Score: 2}}); err != nil {
			t.Fatal(err)
		}
		o.close()
		if o, err = open(); err != nil || o.state().Labels != 301 {
			t.Errorf("after %q and another label: %+v, error %v", tail, o, err)
		}
		o.close()
	}
	for _, bad := range []string{"{}\n", "null\n", "x\n", ""} {
		put(t, path, []byte(bad))
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "line 1: expected the first line") || strings.Contains(err.Error(), "%!") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	for _, bad := range []string{"x\n", `{"score":-1}` + "\n", `{"score":null}x` + "\n"} {
		put(t, path, append(whole[:len(whole):len(whole)], bad...))
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "line 302: ") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// TestOutcomesCompact: a file keeps the last labels, at least as many as it should and at most twice as many; a server that reads it again has the
// same state as one that has read all labels, also while it is compacted, and labels that are no longer in the file do not count twice.
func TestOutcomesCompact(t *testing.T) {
	m, dir := trained(t, "numbers", filepath.Join(t.TempDir(), "m.valla"), 1), t.TempDir()
	v := &version{name: "m", hash: "h", model: m, drift: newDrift(m.Profile())}
	open := func(folder string, rows int) *outcomes {
		o, err := openOutcomes(v, Options{Outcomes: folder, OutcomeRows: rows, now: clock(0)}.complete())
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	short, whole := open(dir, 20), open(t.TempDir(), 0)
	for i := range 333 {
		line := outcome{Time: int64(i) * 7200, ID: fmt.Sprint("q", i), Score: float64(i % 13), Width: float64(i % 7), X: []float64{float64(i % 5), 100}, Target: 1}
		for _, o := range []*outcomes{short, whole} {
			if n, err := o.add([]outcome{line}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if i%31 == 0 {
			short.close()
			short = open(dir, 20)
		}
		if a, b := string(short.head()), string(whole.head()); a != b {
			t.Fatalf("after %d labels: %s, expected %s", i+1, a, b)
		}
		text, err := os.ReadFile(short.log.path)
		lines := strings.Count(string(text), "\n") - 1
		if err != nil || lines != short.log.lines || lines > 40 || lines < min(i+1, 20) || int64(len(text)) != short.log.size {
			t.Fatalf("after %d labels: %d lines, %d bytes, expected %d and %d, error %v", i+1, lines, len(text), short.log.lines, short.log.size, err)
		}
		if len(short.known) != lines || len(short.labelled) != lines {
			t.Fatalf("%d known rows for %d lines", len(short.known), lines)
		}
	}
	if n, err := short.add([]outcome{{ID: "q332", Score: 1}}); n != 0 || err != nil {
		t.Errorf("a label twice: %d, error %v", n, err)
	}
	if files, err := os.ReadDir(dir); len(files) != 1 || err != nil {
		t.Errorf("files %v, error %v", files, err)
	}
	short.close()
	whole.close()
}

// clock stands still at a time in seconds since 1970.
func clock(seconds int64) func() time.Time { return func() time.Time { return time.Unix(seconds, 0) } }

// TestOutcomesAnotherLevel: intervals of another level begin with the last scores of the level before.
func TestOutcomesAnotherLevel(t *testing.T) {
	m, dir := trained(t, "numbers", filepath.Join(t.TempDir(), "m.valla"), 1), t.TempDir()
	v := &version{name: "m", hash: "h", model: m}
	for k, level := range []float64{0.95, 0.8} {
		o, err := openOutcomes(v, Options{Outcomes: dir, OutcomeRows: 100, OutcomeLevel: level}.complete())
		if err != nil {
			t.Fatal(err)
		}
		if s := o.state(); k > 0 && (s.Labels != 400 || math.Abs(s.Limit-8) > 1.5) {
			t.Errorf("level %g: %+v", level, s)
		}
		for i := range 400 * (1 - k) {
			if _, err := o.add([]outcome{{Score: float64(i*7%100) / 10, X: []float64{1, 2}}}); err != nil {
				t.Fatal(err)
			}
		}
		o.close()
	}
}

// TestRecent: predictions that wait for labels are bounded by their rows, and an id twice has the last ones.
func TestRecent(t *testing.T) {
	r := newRecent(10)
	of := func(n int) kept {
		return kept{valla.Prediction{Targets: []string{"y"}, Mean: make([]float64, n)}, make([]float64, 2*n)}
	}
	for _, c := range []struct {
		id   string
		n    int
		rows int
		want string
	}{{"a", 4, 4, "a"}, {"b", 4, 8, "a b"}, {"a", 2, 6, "b a"}, {"c", 5, 7, "a c"}, {"d", 20, 20, "d"}} {
		r.add(c.id, of(c.n))
		var ids []string
		for e := r.order.Front(); e != nil; e = e.Next() {
			ids = append(ids, e.Value.(waiting).id)
		}
		if r.rows != c.rows || r.inputs != 2*c.rows || strings.Join(ids, " ") != c.want || len(r.byID) != len(ids) {
			t.Errorf("after %q: %d rows, %d inputs, %q", c.id, r.rows, r.inputs, ids)
		}
	}
	if r.remove("d"); r.rows != 0 || r.inputs != 0 || r.order.Len() != 0 {
		t.Errorf("%+v", r)
	}
}

// TestForget: the predictions of the labels that are forgotten go, wherever they are among those that wait, and all others stay.
func TestForget(t *testing.T) {
	const n = 100
	o := &outcomes{recent: newRecent(n), known: map[labelled]bool{}}
	name := func(i int) string { return fmt.Sprintf("request %d", i) }
	for i := range n {
		o.keep(name(i), kept{valla.Prediction{Targets: []string{"y"}, Mean: []float64{1}}, []float64{1, 2}})
		o.labelled = append(o.labelled, labelled{id: name(i * 37 % n)}) // in another order
	}
	o.forget(n / 2)
	for i := range n {
		if _, ok := o.recent.of(name(i * 37 % n)); ok != (i >= n/2) {
			t.Errorf("label %d is kept: %t", i, ok)
		}
	}
	if o.recent.rows != n/2 || o.recent.inputs != n {
		t.Errorf("%d rows and %d inputs are left, want %d and %d", o.recent.rows, o.recent.inputs, n/2, n)
	}
}

// FuzzOutcomes: no file makes the server crash, and what was read is read again, also after another label and a compaction.
func FuzzOutcomes(f *testing.F) {
	m := trained(f, "numbers", filepath.Join(f.TempDir(), "m.valla"), 1)
	v := &version{name: "m", hash: "h", model: m, drift: newDrift(m.Profile())}
	options := func(dir string) Options {
		return Options{Outcomes: dir, OutcomeRows: 2, now: clock(1e9), Log: slog.New(slog.DiscardHandler)}.complete()
	}
	first, err := openOutcomes(v, options(f.TempDir()))
	if err != nil {
		f.Fatal(err)
	}
	if _, err := first.add([]outcome{{Time: 5, Score: 1, X: []float64{1, 2}}, {Time: 90_000, Score: 3, ID: "a", X: []float64{1, 2}}}); err != nil {
		f.Fatal(err)
	}
	text := first.head()
	first.close()
	f.Add(text)
	f.Add(append(text[:len(text):len(text)], "{\"score\":1}\n{\"id\":\"a\",\"row\":1,\"score\":0}\n{\"sc"...))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		put(t, logPath(dir, v), text)
		o, err := openOutcomes(v, options(dir))
		if err != nil {
			return
		}
		for range 3 {
			if _, err := o.add([]outcome{{Score: 2, X: []float64{1, 2}}}); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		o.close()
		again, err := openOutcomes(v, options(dir))
		if err != nil || string(again.head()) != string(o.head()) {
			t.Fatalf("%q: %v", text, err)
		}
		again.close()
	})
}

// TestOutcomesOnTheirWayToTheDisk: while labels are on their way to the disk, which takes long, predictions have their intervals.
func TestOutcomesOnTheirWayToTheDisk(t *testing.T) {
	m := trained(t, "numbers", filepath.Join(t.TempDir(), "m.valla"), 1)
	o, err := openOutcomes(&version{name: "m", hash: "h", model: m, drift: newDrift(m.Profile())}, Options{Outcomes: t.TempDir(), now: clock(0)}.complete())
	if err != nil {
		t.Fatal(err)
	}
	o.close()
	slow, disk, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	defer disk.Close()
	o.log.file = disk
	many := make([]outcome, 10_000) // more than a pipe holds
	added := make(chan error)
	go func() {
		_, err := o.add(many)
		added <- err
	}()
	if _, err := io.ReadFull(slow, make([]byte, 1)); err != nil { // the labels are on their way
		t.Fatal(err)
	}
	o.keep("q", kept{p: valla.Prediction{Targets: []string{"y"}, Mean: []float64{0}}})
	o.adapted(valla.Prediction{})
	if _, ok, _ := o.prediction(labelled{id: "q"}); !ok || o.state().Labels != 0 {
		t.Errorf("the state before the labels is %+v", o.state())
	}
	go func() { _, _ = io.Copy(io.Discard, slow) }()
	if err := <-added; err == nil || o.state().Labels != 0 {
		t.Errorf("a pipe is no disk, and labels without a disk do not count: error %v, %+v", err, o.state())
	}
}
