package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAcquire: the same rows as a table, in a file and as JSON; the first has the largest epistemic part of all predictions.
func TestAcquire(t *testing.T) {
	t.Parallel()
	dir := fitted(t)
	args := []string{"acquire", "test.csv", "--model", "m.valla", "-n", "3"}
	text := must(t, dir, args...)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) != 4 || lines[0] != "row,score" {
		t.Fatalf("printed %q", text)
	}
	must(t, dir, with(args, "--out", "next.csv")...)
	if there, err := os.ReadFile(filepath.Join(dir, "next.csv")); err != nil || string(there) != text {
		t.Errorf("the file has %q, want %q, error %v", there, text, err)
	}
	var doc struct {
		By   string
		Rows []struct {
			Row   int
			Score float64
		}
	}
	if err := json.Unmarshal([]byte(must(t, dir, with(args, "--json")...)), &doc); err != nil || doc.By != "variance" || len(doc.Rows) != 3 {
		t.Fatalf("as JSON: %+v, error %v", doc, err)
	}
	for i, row := range doc.Rows {
		if want := strconv.Itoa(row.Row) + "," + strconv.FormatFloat(row.Score, 'g', -1, 64); lines[i+1] != want {
			t.Errorf("line %q, as JSON %q", lines[i+1], want)
		}
	}
	var predicted struct{ Epistemic []float64 }
	if err := json.Unmarshal([]byte(must(t, dir, "predict", "test.csv", "--model", "m.valla", "--json")), &predicted); err != nil {
		t.Fatal(err)
	}
	for _, v := range predicted.Epistemic {
		if v > predicted.Epistemic[doc.Rows[0].Row-1] {
			t.Errorf("row %d comes first, with the epistemic part %g; another one has %g", doc.Rows[0].Row, predicted.Epistemic[doc.Rows[0].Row-1], v)
		}
	}
	for _, by := range []string{"bald", "posterior"} {
		must(t, dir, with(args, "--by", by)...)
	}
	rows, err := os.ReadFile(filepath.Join(dir, "train.csv"))
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.ReplaceAll("row,"+strings.TrimSpace(string(rows)), "\n", "\nr,")
	if err := os.WriteFile(filepath.Join(dir, "ids.csv"), []byte(ids), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, dir, "train", "ids.csv", "--target", "y", "--id", "row", "--hidden", "3", "--iterations", "10", "--out", "ids.valla")
	must(t, dir, "fit", "ids.csv", "--model", "ids.valla", "--method", "lla", "--weights", "last-layer", "--out", "named.valla")
	if text = must(t, dir, "acquire", "ids.csv", "--model", "named.valla"); !strings.HasPrefix(text, "row,id_row,score\n") {
		t.Errorf("an ID called row: %q", text)
	}
	var named struct {
		Rows []struct {
			Row int
			ID  string `json:"id_row"`
		}
	}
	if err := json.Unmarshal([]byte(must(t, dir, "acquire", "ids.csv", "--model", "named.valla", "--json")), &named); err != nil || named.Rows[0].Row < 1 || named.Rows[0].ID != "r" {
		t.Errorf("an ID called row: %+v, error %v", named, err)
	}
	fails(t, dir, 2, "expected at least one", with(args, "-n", "0")...)
	fails(t, dir, 2, "a network without a posterior", "acquire", "test.csv", "--model", "map.valla")
	fails(t, dir, 2, "called .csv", with(args, "--out", "x.npz")...)
	fails(t, dir, 2, "would replace", with(args, "--out", "test.csv")...)
}
