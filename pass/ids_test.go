package pass_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/pass"
)

// TestColumnsOfIDs: the names of the IDs come from the first file, so that a file without them is refused.
func TestColumnsOfIDs(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	with := file("with.csv", "id,a,y\nr1,1,2\nr2,2,3\nr3,3,5\n"+strings.Repeat("r4,4,6\n", 20))
	without := file("without.csv", "a\n1\n2\n")
	table, err := data.ReadTable(with)
	if err != nil {
		t.Fatal(err)
	}
	set, err := valla.Encode(table, data.ColumnOptions{Targets: []string{"y"}, ID: []string{"id"}}, valla.TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := valla.Train(t.Context(), set, valla.TrainOptions{Network: valla.Network{Hidden: []int{2}}, Training: valla.Training{Iterations: 5}})
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(dir, "m.valla")
	if err := m.Save(model); err != nil {
		t.Fatal(err)
	}
	j, err := pass.New(pass.Options{Task: pass.Predict}, model, with, without)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.NewRunner(filepath.Join(dir, "shards"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Do(t.Context(), 0); err != nil {
		t.Errorf("the first file: %v", err)
	}
	if _, err := r.Do(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "without.csv: the columns of IDs [], expected [\"id\"] as in") {
		t.Errorf("a file without the IDs: %v", err)
	}
}
