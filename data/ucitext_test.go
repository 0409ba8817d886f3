package data

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/dense"
)

// texts are the files of a small set of 4 rows; the target is the middle column.
func texts() map[string]string {
	return map[string]string{
		"data.txt":           " 1.5\t-1  2 \n3 -2 4\n\n5 -3e0 6\n7 -4 8",
		"index_features.txt": "0\n2\n",
		"index_target.txt":   "1\n",
		"index_test_0.txt":   "0\n",
		"index_test_1.txt":   "3\n1\n",
	}
}

// putTexts writes the files of texts, of which those in changes have other content or,
// where that is "-", are absent. It returns their folder.
func putTexts(t *testing.T, changes map[string]string) string {
	t.Helper()
	dir, files := t.TempDir(), texts()
	maps.Copy(files, changes)
	for name, content := range files {
		if content == "-" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestUCIText(t *testing.T) {
	train, test, err := UCI(putTexts(t, nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct{ got, want []float64 }{
		"train X": {train.X.Float64s(), []float64{1.5, 2, 5, 6}}, "train Y": {train.Y.Float64s(), []float64{-1, -3}},
		"test X": {test.X.Float64s(), []float64{7, 8, 3, 4}}, "test Y": {test.Y.Float64s(), []float64{-4, -2}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s %v, want %v", what, c.got, c.want)
		}
	}
	if !slices.Equal(train.Features, []string{"x0", "x1"}) || train.Targets[0] != "y" {
		t.Errorf("features %q, target %q", train.Features, train.Targets)
	}
}

// Both forms of one set give equal sets.
func TestUCIForms(t *testing.T) {
	x, y := dense.Of([]float64{1.5, 2, 3, 4, 5, 6, 7, 8}, 4, 2), dense.Of([]float64{-1, -2, -3, -4}, 4, 1)
	archive := putNPZ(t, "X y test_0 test_1", x, y, rowNumbers(0), rowNumbers(3, 1))
	expectSameSplits(t, archive, putTexts(t, nil), 2)
}

// expectSameSplits fails unless two forms of a set agree in every bit of each split.
func expectSameSplits(t *testing.T, archive, dir string, splits int) {
	t.Helper()
	for s := range splits {
		train, test, err := UCI(archive, s)
		if err != nil {
			t.Fatal(err)
		}
		again, other, err := UCI(dir, s)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range [][2]*Set{{train, again}, {test, other}} {
			if !slices.Equal(c[0].X.Float64s(), c[1].X.Float64s()) || !slices.Equal(c[0].Y.Float64s(), c[1].Y.Float64s()) ||
				!slices.Equal(c[0].Features, c[1].Features) || c[0].Targets[0] != c[1].Targets[0] {
				t.Errorf("%s and %s differ in split %d", archive, dir, s)
			}
		}
	}
}

func TestUCITextErrors(t *testing.T) {
	for name, c := range map[string]struct {
		file, content string
		split         int
		say           string
	}{
		"too large":  {"", "", 2, "split 2, expected 0 to 1: open "},
		"negative":   {"", "", -1, "split -1, expected 0 to 1: open "},
		"no data":    {"data.txt", "-", 0, "data.txt: no such file"},
		"no columns": {"index_features.txt", "-", 0, "index_features.txt: no such file"},
		"no target":  {"index_target.txt", "-", 0, "index_target.txt: no such file"},
		"blank":      {"data.txt", "\n \n", 0, "data.txt: expected numbers, found none"},
		"word":       {"data.txt", "1 2 3\n4 five 6\n", 0, `data.txt:2: number 2: expected a finite number, found "five"`},
		"infinite":   {"data.txt", "1 2 Inf\n", 0, `data.txt:1: number 3: expected a finite number, found "Inf"`},
		"ragged":     {"data.txt", "1 2 3\n\n4 5\n", 0, "data.txt:3: expected 3 numbers, found 2"},
		"column":     {"index_features.txt", "0\n3\n", 0, "index_features.txt: expected columns of 0 to 2, found 3"},
		"minus":      {"index_target.txt", "-1\n", 0, "index_target.txt: expected columns of 0 to 2, found -1"},
		"targets":    {"index_target.txt", "1\n2\n", 0, "index_target.txt: expected the number of one column, found 2"},
		"fraction":   {"index_test_0.txt", "0.5\n", 0, `index_test_0.txt:1: expected one integer, found "0.5"`},
		"two":        {"index_test_0.txt", "0\n1 2\n", 0, `index_test_0.txt:2: expected one integer, found "1 2"`},
		"row":        {"index_test_0.txt", "0\n4\n", 0, "index_test_0.txt, element 1: expected a row of 0 to 3 not named before, found 4"},
		"twice":      {"index_test_0.txt", "2\n2\n", 0, "element 1: expected a row of 0 to 3 not named before, found 2"},
		"all":        {"index_test_0.txt", "0\n1\n2\n3\n", 0, "index_test_0.txt: all 4 rows are for testing, none for training"},
		"no splits":  {"index_test_0.txt", "-", 7, "no splits (files index_test_0.txt, index_test_1.txt, ...); it has none: open "},
	} {
		t.Run(name, func(t *testing.T) {
			changes := map[string]string{}
			if c.file != "" {
				changes[c.file] = c.content
			}
			dir := putTexts(t, changes)
			_, _, err := UCI(dir, c.split)
			expectError(t, err, "", c.say)
			missing := c.content == "-" || c.file == ""
			if missing != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("error %v, of a missing file: %v", err, !missing)
			}
		})
	}
	if _, _, err := UCI(filepath.Join(t.TempDir(), "none"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want %v", err, fs.ErrNotExist)
	}
}
