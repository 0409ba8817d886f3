package data

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
)

// TestNamedArrays: the arrays of an archive that hold the inputs become columns.
func TestNamedArrays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.npz")
	of := func(v []float64, shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	err := npy.WriteArchive(path, []string{"y", "day", "image", "short"}, []*tensor.Dense{
		of([]float64{7, 8}, 2), tensor.New(tensor.WithShape(2), tensor.WithBacking([]int64{3, 4})), of([]float64{0, 1, 2, 3, 4, 5, 6, 7}, 2, 2, 2), of([]float64{1, 2, 3}, 3),
	})
	if err != nil {
		t.Fatal(err)
	}
	table, err := TableReader{Arrays: []string{"image", "day"}}.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"image.0.0", "image.0.1", "image.1.0", "image.1.1", "day", "y"}; !slices.Equal(table.Columns, want) {
		t.Errorf("columns %q, want %q", table.Columns, want)
	}
	if want := []float64{0, 1, 2, 3, 3, 7, 4, 5, 6, 7, 4, 8}; !slices.Equal(table.Values.Float64s(), want) {
		t.Errorf("values %v, want %v", table.Values.Float64s(), want)
	}
	for want, arrays := range map[string][]string{
		`"night"`: {"day", "night"},
		`array "short" of shape (3), expected as many rows as "day"`: {"day", "short"},
	} {
		if _, err := (TableReader{Arrays: arrays}).Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
