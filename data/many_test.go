package data

import (
	"strings"
	"testing"
)

// TestTooManyCategories: a column of more texts than can be counted is refused by its name before they are
// counted.
func TestTooManyCategories(t *testing.T) {
	table := &Table{Path: "t.csv", Columns: []string{"x", "city"}}
	_, err := (profile{words: make([]Word, mostCategories+1)}).categorical(table, 1)
	if err == nil || !strings.Contains(err.Error(), `t.csv: column "city" has 1000001 different texts`) {
		t.Errorf("error %v", err)
	}
}
