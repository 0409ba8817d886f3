package task

import (
	"math"
	"testing"

	"github.com/go-valla/valla/data"
	"gorgonia.org/tensor"
)

// TestOrigins: errors about a row name its number in the file, where rows were left out or shuffled.
func TestOrigins(t *testing.T) {
	set := &data.Set{Features: []string{"a"}, Targets: []string{"k"}, X: denseOf([]float64{1, 2, math.NaN()}, 3, 1), Y: denseOf([]float64{0, 7, 1}, 3, 1)}
	all := Task{Inputs: Inputs{Shape: []int{1}, Features: []string{"a"}}, Outputs: &Classification{Name: "k", Classes: []float64{0, 1}}}
	_, err := all.Examples(set.Rows([]int{2, 0}), tensor.Float64)
	oneLine(t, err, `row 2 (counting from 0), feature "a": expected a finite number`)
	_, err = all.Examples(set.Rows([]int{0, 1}).Rows([]int{1}), tensor.Float64)
	oneLine(t, err, `row 1 (counting from 0), target "k": 7 is none of the 2 classes`)
	left := set.Rows([]int{2, 1})
	left.Origins = []int{40, 50}
	oneLine(t, all.CheckSet(left), `row 50 (counting from 0), target "k"`)
}
