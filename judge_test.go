package valla

import (
	"testing"

	"gorgonia.org/tensor"
)

// TestHasPseudoRows: points between rows stand for new rows, but not between the numbers of words.
func TestHasPseudoRows(t *testing.T) {
	m := newTestModel(t, tensor.Float64, 0, 4)
	if !m.hasPseudoRows() {
		t.Error("no pseudo-rows of numbers")
	}
	words := *m
	words.Task.Inputs.Whole = []bool{false, true}
	if words.hasPseudoRows() {
		t.Error("pseudo-rows between numbers of words")
	}
}
