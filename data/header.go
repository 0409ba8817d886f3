package data

import (
	"slices"
	"strconv"

	"github.com/go-valla/valla/internal/settings"
)

// unnamed begins the name that a column without one in the header gets, as in pandas.
const unnamed = "Unnamed: "

// Kinds of cells, as far as a header is concerned.
const (
	isNumber = iota
	isGap
	isWord
)

func kindOf(cell string) int {
	if _, ok := parse([]byte(cell)); ok {
		return isNumber
	}
	if missing(cell) {
		return isGap
	}
	return isWord
}

// hasHeader says whether the first row, of one or two that are given, names the columns. A row
// that may be either is an error.
func (r TableReader) hasHeader(rows []row) (bool, error) {
	first := rows[0].cells
	switch r.Header {
	case "yes", "no":
		return r.Header == "yes", nil
	case "", "auto":
	default:
		return false, settings.Errorf("header %q, expected auto, yes or no", r.Header)
	}
	if len(r.Names) > 0 {
		if all := !slices.ContainsFunc(r.Names, func(n string) bool { return !slices.Contains(first, n) }); all {
			return true, nil
		}
		if slices.Equal(r.Names, numbered(len(r.Names), "x")) {
			return false, nil // the rows before had none
		}
	}
	var kinds [3]int
	for _, c := range first {
		kinds[kindOf(c)]++
	}
	why := ""
	switch {
	case kinds[isWord] > 0 && kinds[isNumber] > 0 && len(rows) > 1 && sameKinds(first, rows[1].cells):
		why = "it has words and numbers where the second row has them"
	case kinds[isWord] > 0:
		return true, nil
	case kinds[isNumber] > 0 && first[0] == "" && counts(first[1:]):
		return true, nil // as pandas writes an array
	case kinds[isGap] > 0:
		why = "it has an empty cell and no word"
	case len(first) > 2 && counts(first):
		why = "it counts up"
	default:
		return false, nil
	}
	return false, settings.Errorf("the first row may name the columns or hold data, since %s: say header yes or header no", why)
}

// sameKinds says whether two rows may have numbers and words in the same columns. A gap stands where
// either could be, so that it tells nothing.
func sameKinds(a, b []string) bool {
	return slices.EqualFunc(a, b, func(a, b string) bool {
		k, l := kindOf(a), kindOf(b)
		return k == l || k == isGap || l == isGap
	})
}

// counts says whether cells are consecutive whole numbers, each larger by one than its predecessor.
func counts(cells []string) bool {
	for i, c := range cells {
		v, err := strconv.Atoi(c)
		if err != nil {
			return false
		}
		if first, _ := strconv.Atoi(cells[0]); v != first+i {
			return false
		}
	}
	return true
}
