//go:build linux || darwin

package command_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/npy"
)

// raggedRow is a row with the words of a text and a target.
type raggedRow struct {
	Words []int64 `parquet:"words,list"`
	Y     float64 `parquet:"y"`
}

// writeRagged writes the rows of a network twice: rows.npz has padded words with their mask and number, rows.parquet
// the words alone. A network of one input, whose words end before the first 0, has neither mask nor number.
func writeRagged(t *testing.T, dir, name string) []raggedRow {
	t.Helper()
	set := galleryData(t, name, 40)
	var words []int64
	var y []float64
	for i, a := range set.arrays {
		switch set.names[i] {
		case "X", "words":
			words = a.Data().([]int64)
		case "y":
			y = graph.Floats(a)
		case "mask": // as PyTorch's users have masks
			truths := make([]uint8, 0, len(words))
			for _, v := range a.Data().([]int64) {
				truths = append(truths, uint8(v))
			}
			set.arrays[i] = tensor.New(tensor.WithShape(a.Shape()...), tensor.WithBacking(truths))
		}
	}
	if err := npy.WriteArchive(filepath.Join(dir, "rows.npz"), set.names, set.arrays); err != nil {
		t.Fatal(err)
	}
	rows := make([]raggedRow, len(y))
	for i := range rows {
		list := words[6*i : 6*i+6]
		if end := slices.Index(list, 0); end >= 0 {
			list = list[:end]
		}
		rows[i] = raggedRow{list, y[i]}
	}
	writeRows(t, filepath.Join(dir, "rows.parquet"), rows)
	return rows
}

func writeRows(t *testing.T, path string, rows []raggedRow) {
	t.Helper()
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
}

// TestRaggedLists: predictions and scores of lists of different lengths are those of padded arrays with their mask. The
// model file keeps the padding.
func TestRaggedLists(t *testing.T) {
	for name, flags := range map[string]string{"text": "--classes --pad 0", "masked": "--mask mask --lengths length"} {
		dir := t.TempDir()
		writeRagged(t, dir, name)
		outputs := map[string][]string{}
		for _, file := range []string{"rows.npz", "rows.parquet"} {
			args := []string{"fit", file, "--network", galleryFile(t, name), "--target", "y", "--method", "lla", "--weights", "last-layer", "--out", file + ".valla"}
			must(t, dir, append(args, strings.Fields(flags)...)...)
		}
		for _, pair := range [][]string{{"rows.npz", "rows.npz.valla"}, {"rows.parquet", "rows.parquet.valla"}, {"rows.parquet", "rows.npz.valla"}} {
			if name == "text" && pair[0] == "rows.parquet" && pair[1] == "rows.npz.valla" {
				continue // the columns of one array have no names
			}
			predicted := must(t, dir, "predict", pair[0], "--model", pair[1])
			scores := must(t, dir, "eval", pair[0], "--model", pair[1], "--json")
			outputs["predict"], outputs["eval"] = append(outputs["predict"], predicted), append(outputs["eval"], scores)
		}
		for command, all := range outputs {
			if len(slices.Compact(all)) != 1 || !strings.Contains(all[0], "\n") {
				t.Errorf("%s: %s has different outputs:\n%.1500s", name, command, strings.Join(all, "\n"))
			}
		}
		if r := run(t, dir, "report", "rows.parquet", "--model", "rows.parquet.valla", "--out", "report.html"); r.code != 0 {
			t.Errorf("%s: report: exit code %d, stderr %q", name, r.code, r.stderr)
		}
	}
}

// TestRaggedErrors: lists of different lengths without flags, and lists that are too long, are one clear line.
func TestRaggedErrors(t *testing.T) {
	dir := t.TempDir()
	rows := writeRagged(t, dir, "masked")
	fit := func(more ...string) []string {
		return append([]string{"fit", "rows.parquet", "--network", galleryFile(t, "masked"), "--target", "y", "--method", "lla", "--out", "m.valla"}, more...)
	}
	fails(t, dir, 1, `rows.parquet: row 1 (counting from 0), column "words": expected a list of 6 elements, as in the first row, found 2: pad lists to one length`, fit()...)
	fails(t, dir, 2, `no input "masks" of the network`, fit("--mask", "masks")...)
	fails(t, dir, 2, "net-weights", "fit", "rows.parquet", "--net-weights", "w.npz", "--pad", "0", "--out", "m.valla")
	must(t, dir, fit("--mask", "mask", "--lengths", "length")...)
	rows[7].Words = []int64{1, 2, 3, 4, 5, 6, 7, 8}
	writeRows(t, filepath.Join(dir, "rows.parquet"), rows)
	fails(t, dir, 1, `rows.parquet: row 7 (counting from 0), column "words": expected a list of at most 6 elements, found 8`, "predict", "rows.parquet", "--model", "m.valla")
}
