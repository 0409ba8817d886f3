package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if text, err := os.ReadFile(fileOf(t, dir)); err != nil || strings.Count(string(text), "\n") != 202 {
		t.Errorf("%d lines, error %v", strings.Count(string(text), "\n"), err)
	}
	for path, want := range map[string]string{
		`numbers/outcomes [{"id":"other","row":0,"target":4}]`: "no prediction of the request",
		`numbers/outcomes [{"id":"mine","row":2,"target":4}]`:  "row 2 of a request with 2 rows",
		`numbers/outcomes [{"id":"mine","row":0}]`:             "expected the id of a request, a row and a target",
		`numbers/outcomes [{"a":1,"b":2}]`:                     "expected a number",
		`numbers/outcomes []`:                                  "expected JSON",
		`classes/outcomes [{"a":1,"b":2,"kind":1}]`:            "takes no outcomes",
	} {
		to, body, _ := strings.Cut(path, " ")
		if a, got := r.send(http.MethodPost, "/models/"+to, "application/json", []byte(body)); a.StatusCode < 400 || a.StatusCode >= 500 || !strings.Contains(string(got), want) {
			t.Errorf("%s: status %d, %s", path, a.StatusCode, got)
		}
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
		return openOutcomes(dir, &version{name: "numbers", hash: r.Server.models[0].present(), model: r.models["numbers"]}, usualLevel)
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
	for _, bad := range []string{"x\n", `{"score":-1}` + "\n", `{"score":null}x` + "\n"} {
		put(t, path, append(whole[:len(whole):len(whole)], bad...))
		if _, err := open(); err == nil || !strings.Contains(err.Error(), "line 301: ") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// FuzzOutcomes: no file makes the server crash, and what was read is read again.
func FuzzOutcomes(f *testing.F) {
	m := trained(f, "numbers", filepath.Join(f.TempDir(), "m.valla"), 1)
	f.Add([]byte("{\"score\":1}\n{\"id\":\"a\",\"row\":1,\"score\":0}\n{\"sc"))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "m-h.jsonl"), text)
		v := &version{name: "m", hash: "h", model: m}
		o, err := openOutcomes(dir, v, 0.9)
		if err != nil {
			return
		}
		o.close()
		again, err := openOutcomes(dir, v, 0.9)
		if err != nil || again.state().Labels != o.state().Labels {
			t.Errorf("%q: %v", text, err)
		}
		again.close()
	})
}
