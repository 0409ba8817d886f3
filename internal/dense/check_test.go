package dense

import (
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// TestCheckRows: plain arrays pass, and an error says what is wrong with any other array.
func TestCheckRows(t *testing.T) {
	x := Of(make([]float64, 6), 3, 2)
	narrow := tensor.New(tensor.WithShape(1, 1, 2), tensor.WithBacking(make([]float32, 2)))
	for _, x := range []*tensor.Dense{x, narrow} {
		if err := CheckRows(x); err != nil {
			t.Errorf("%v of shape %v: %v", x.Dtype(), x.Shape(), err)
		}
	}
	view, err := x.Slice(nil, tensor.S(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	part, err := Of(make([]float64, 12), 3, 4).Slice(nil, tensor.S(1, 3))
	if err != nil {
		t.Fatal(err)
	}
	for want, x := range map[string]*tensor.Dense{
		"inputs are int, expected float32":     tensor.New(tensor.WithShape(3, 2), tensor.WithBacking(make([]int, 6))),
		"inputs of shape (6), expected [N,…]":  Of(make([]float64, 6), 6),
		"inputs of shape (3), expected [N,…]":  view.(*tensor.Dense),
		"inputs of shape (3, 2) are not conti": part.(*tensor.Dense),
	} {
		if err := CheckRows(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
