package data

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// uciText reads all examples and the test rows of a split from the text files in the
// folder dir. Each line of data.txt is one example: numbers with spaces or tabs between
// them. Each line of the other files is the number of a column or of a row, counted from 0.
func uciText(dir string, split int) (*Set, []int, error) {
	values, columns, err := readNumbers(filepath.Join(dir, "data.txt"))
	if err != nil {
		return nil, nil, err
	}
	features, err := readIndices(filepath.Join(dir, "index_features.txt"), columns)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "index_target.txt")
	target, err := readIndices(path, columns)
	if err != nil {
		return nil, nil, err
	}
	if len(target) != 1 {
		return nil, nil, fmt.Errorf("%s: expected the number of one column, found %d", path, len(target))
	}
	table := &Table{Columns: numbered(columns, "x"), Values: dense.Of(values, len(values)/columns, columns)}
	set := &Set{Features: numbered(len(features), "x"), Targets: []string{"y"}, X: table.pick(features), Y: table.pick(target)}
	rows, err := textRows(dir, split, set.N())
	return set, rows, err
}

// textRows returns the test rows of a split of n examples.
func textRows(dir string, split, n int) ([]int, error) {
	name := func(s int) string { return filepath.Join(dir, fmt.Sprintf("index_test_%d.txt", s)) }
	numbers, err := readIntegers(name(split))
	if errors.Is(err, fs.ErrNotExist) {
		has := func(s int) bool {
			_, err := os.Stat(name(s))
			return err == nil
		}
		return nil, fmt.Errorf("%w: %w", missingSplit(split, has, "files index_test_0.txt, index_test_1.txt, ...", "none"), err)
	}
	if err != nil {
		return nil, err
	}
	rows, err := checkRows(numbers, n)
	if err != nil {
		return nil, fmt.Errorf("%s%w", name(split), err)
	}
	return rows, nil
}

// readNumbers returns the values of a text file, row by row, and how many columns it has.
func readNumbers(path string) (values []float64, columns int, err error) {
	err = eachLine(path, func(cells []string) error {
		if columns == 0 {
			columns = len(cells)
		}
		if len(cells) != columns {
			return fmt.Errorf("expected %d numbers, found %d", columns, len(cells))
		}
		for i, c := range cells {
			v, err := strconv.ParseFloat(c, 64)
			if err != nil || !kernel.Finite(v) {
				return fmt.Errorf("number %d: expected a finite number, found %q", i+1, c)
			}
			values = append(values, v)
		}
		return nil
	})
	return values, columns, err
}

// readIndices returns the numbers of columns in a text file, each below limit.
func readIndices(path string, limit int) ([]int, error) {
	numbers, err := readIntegers(path)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(numbers))
	for i, v := range numbers {
		if v < 0 || v >= int64(limit) {
			return nil, fmt.Errorf("%s: expected columns of 0 to %d, found %d", path, limit-1, v)
		}
		out[i] = int(v)
	}
	return out, nil
}

// readIntegers returns the integers of a text file, which has one on each line.
func readIntegers(path string) ([]int64, error) {
	var out []int64
	err := eachLine(path, func(cells []string) error {
		v, err := strconv.ParseInt(cells[0], 10, 64)
		if err != nil || len(cells) != 1 {
			return fmt.Errorf("expected one integer, found %q", strings.Join(cells, " "))
		}
		out = append(out, v)
		return nil
	})
	return out, err
}

// eachLine calls take with the cells of every line that is not blank, and adds the place to
// its error. A file without such a line is an error.
func eachLine(path string, take func(cells []string) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines, found := bufio.NewScanner(f), false
	for line := 1; lines.Scan(); line++ {
		cells := strings.Fields(lines.Text())
		if len(cells) == 0 {
			continue
		}
		found = true
		if err := take(cells); err != nil {
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if !found {
		return fmt.Errorf("%s: expected numbers, found none", path)
	}
	return nil
}
