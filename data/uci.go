package data

import (
	"fmt"
	"slices"
	"strconv"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data/npy"
)

// UCI returns one of the standard splits of a UCI regression set: an archive of
// X [N,D], y [N,1] or [N] and, for each split s, the row numbers test_s of its
// test examples (Hernandez-Lobato and Adams 2015, Gal and Ghahramani 2016). All
// other rows, in the order of the file, are for training. A split that the file
// does not have is an error that names the range.
func UCI(path string, split int) (train, test *Set, err error) {
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
	return set.Rows(complement(rows, set.N())), set.Rows(rows), nil
}

// testRows returns the test rows of a split of n examples after checking that
// they are different rows and leave some for training.
func testRows(a *npy.Archive, split, n int) ([]int, error) {
	t, ok := a.Get("test_" + strconv.Itoa(split))
	if !ok {
		return nil, missingSplit(a, split)
	}
	if t.Dims() != 1 || t.Dtype() != tensor.Int64 {
		return nil, fmt.Errorf("array \"test_%d\": expected int64 of shape [T], found %v of shape %v", split, t.Dtype(), t.Shape())
	}
	rows := make([]int, 0, t.Size())
	seen := make([]bool, n)
	for i, r := range t.Int64s() {
		if r < 0 || r >= int64(n) || seen[r] {
			return nil, fmt.Errorf("array \"test_%d\", element %d: expected a row of 0 to %d not named before, found %d", split, i, n-1, r)
		}
		seen[r] = true
		rows = append(rows, int(r))
	}
	if len(rows) == n {
		return nil, fmt.Errorf("array \"test_%d\": all %d rows are for testing, none for training", split, n)
	}
	return rows, nil
}

func missingSplit(a *npy.Archive, split int) error {
	count := 0
	for slices.Contains(a.Names, "test_"+strconv.Itoa(count)) {
		count++
	}
	if count == 0 {
		return fmt.Errorf("no splits (arrays test_0, test_1, ...); it has %s", listed(a.Names))
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
