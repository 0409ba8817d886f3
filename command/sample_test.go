package command_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestSample: a sample of all rows of several files gives the model of one file with these rows, and a smaller sample counts all
// rows where the method goes by mini-batches, and says so where it does not.
func TestSample(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	rows := example(200, 1)
	writeTable(t, filepath.Join(dir, "a.csv"), rows[:70])
	writeTable(t, filepath.Join(dir, "b.csv"), rows[70:])
	draw := func(more ...string) (string, map[string]any) {
		t.Helper()
		r := run(t, dir, append([]string{"fit", "a.csv", "b.csv", "--model", "map.valla", "--iterations", "20", "--inducing", "5", "--json"}, more...)...)
		var doc struct{ Event map[string]any }
		if err := json.Unmarshal([]byte(r.stdout), &doc); err != nil || r.code != 0 {
			t.Fatalf("exit code %d, stderr %q, error %v", r.code, r.stderr, err)
		}
		return r.stderr, doc.Event
	}
	must(t, dir, "fit", "train.csv", "--model", "map.valla", "--iterations", "20", "--inducing", "5", "--out", "one.valla")
	said, event := draw("--sample", "500", "--out", "all.valla")
	if !strings.Contains(said, "200 of 200 rows were drawn at random from 2 files.") || event["drawn_from"] != nil || event["rows"] != 180. {
		t.Errorf("stderr %q, event %v", said, event)
	}
	for _, m := range []string{"one", "all"} {
		must(t, dir, "predict", "test.csv", "--model", m+".valla", "--out", m+".csv")
	}
	same(t, dir, "one.csv", "all.csv")
	said, event = draw("--sample", "100", "--out", "some.valla")
	if !strings.Contains(said, "100 of 200 rows were drawn at random from 2 files.") || event["drawn_from"] != 200. || event["rows"] != 90. || strings.Contains(said, "of the sample alone") {
		t.Errorf("stderr %q, event %v", said, event)
	}
	r := run(t, dir, "fit", "a.csv", "b.csv", "--model", "map.valla", "--method", "lla", "--sample", "100", "--out", "lla.valla")
	if !strings.Contains(r.stdout+r.stderr, "counts the 90 rows of the sample alone, not all 190: valla fit --passes") || !strings.Contains(r.stdout, "90 to train, 10 to validate, drawn from 200") {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	r = run(t, dir, "train", "a.csv", "b.csv", "--target", "y", "--iterations", "20", "--sample", "100", "--out", "again.valla")
	if r.code != 0 || !strings.Contains(r.stdout, "90 to train, 10 to validate") || !strings.Contains(r.stderr, "100 of 200 rows") {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	fails(t, dir, 2, "expected one file of data, found 2", "fit", "a.csv", "b.csv", "--model", "map.valla", "--out", "no.valla")
	fails(t, dir, 2, "--sample", "fit", "a.csv", "b.csv", "--model", "map.valla", "--sample", "0", "--out", "no.valla")
	fails(t, dir, 1, "none.csv", "fit", "a.csv", "none.csv", "--model", "map.valla", "--sample", "10", "--out", "no.valla")
	fails(t, dir, 2, "--sample with --passes", "fit", "a.csv", "--model", "m.valla", "--sample", "10", "--passes", "sums", "--out", "no.valla")
}
