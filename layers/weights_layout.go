package layers

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// Layout is the order of the axes of dense weights, [in, out] or [out, in], in a
// file. In memory they are always [in, out].
type Layout string

const (
	// Auto is the layout that the shapes of the non-square weights show. If all weights
	// are square, it follows from the names: OutIn for PyTorch's, InOut for others.
	Auto  Layout = ""
	InOut Layout = "in,out" // h = a·W + b
	OutIn Layout = "out,in" // h = a·Wᵀ + b, as in PyTorch's Linear
)

// stored returns the shape that an array of shape s in memory has in the file.
func (l Layout) stored(s tensor.Shape) tensor.Shape {
	if l == OutIn && len(s) == 2 {
		return tensor.Shape{s[1], s[0]}
	}
	return s
}

// resolve returns l or, for Auto, the layout that follows from the shapes seen,
// or else the usual one.
func (l Layout) resolve(usual Layout, seen evidence) (Layout, error) {
	switch {
	case l == InOut || l == OutIn:
		return l, nil
	case l != Auto:
		return "", fmt.Errorf("unknown layout %q; known are %q, %q and %q (automatic)", string(l), InOut, OutIn, Auto)
	case seen.inOut != "" && seen.outIn != "":
		return "", fmt.Errorf("%s fits only the layout %q but %s only %q; state the layout",
			seen.inOut, InOut, seen.outIn, OutIn)
	case seen.inOut != "":
		return InOut, nil
	case seen.outIn != "":
		return OutIn, nil
	}
	return usual, nil
}

// evidence is an array that fits one layout only, described, for each layout.
type evidence struct{ inOut, outIn string }

// add takes note of an array for a parameter of the shape want in memory. Shapes
// are compared as slices: to Shape.Eq, (3), (3, 1) and (1, 3) may be equal.
func (e *evidence) add(name string, got, want tensor.Shape) {
	in, out := slices.Equal(got, InOut.stored(want)), slices.Equal(got, OutIn.stored(want))
	text := fmt.Sprintf("array %q of shape %v", name, got)
	if in && !out {
		e.inOut = text
	}
	if out && !in {
		e.outIn = text
	}
}
