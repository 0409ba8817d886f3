package serve

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/atomicfile"
)

// TestOutcomeRows: an update by the collected rows is an update by the rows themselves, and a file that cannot be one of this model is an error.
func TestOutcomeRows(t *testing.T) {
	r, dir := collecting(t)
	set := table("numbers", 30, 5)
	r.post("/models/numbers/outcomes", withTargets(set, 0), http.StatusOK, &state{})
	path, modelPath := fileOf(t, dir), r.Server.models[0].path
	m, err := valla.Load(modelPath)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := OutcomeRows(path, m, modelPath)
	if err != nil || !slices.Equal(rows.X.Float64s(), set.X.Float64s()) || !slices.Equal(rows.Y.Float64s(), set.Y.Float64s()) {
		t.Fatalf("%d rows, error %v", rows.N(), err)
	}
	if !IsOutcomes(path) || IsOutcomes("houses.csv") {
		t.Error("files of labels are not known by their name")
	}
	a, err := m.Update(t.Context(), rows, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Update(t.Context(), set, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Predict(t.Context(), set.X, valla.PredictOptions{})
	q, other := b.Predict(t.Context(), set.X, valla.PredictOptions{})
	before, wrong := m.Predict(t.Context(), set.X, valla.PredictOptions{})
	if err != nil || other != nil || wrong != nil || !slices.Equal(p.Variance, q.Variance) || slices.Equal(p.Variance, before.Variance) {
		t.Errorf("other variances, errors %v, %v, %v", err, other, wrong)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, lines, _ := strings.Cut(string(text), "\n")
	digest, err := atomicfile.Digest(modelPath)
	if err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{
		"": "line 1: ", head + "\n": "no labels", strings.Replace(head, digest[:16], "other", 1) + "\n" + lines: `version "other"`,
		head + "\n" + strings.Replace(lines, `"x":[`, `"x":[1,`, 1): "line 2: 3 inputs", head + "\n{}\nx\n": "line 2: 0 inputs",
	} {
		file := filepath.Join(t.TempDir(), "bad.jsonl")
		put(t, file, []byte(bad))
		if _, err := OutcomeRows(file, m, modelPath); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q", err, want)
		}
	}
}
