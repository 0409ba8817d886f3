package layers

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Layout is the order of the axes of dense weights, [in, out] or [out, in], in a
// file. In memory they are always [in, out].
type Layout string

const (
	// Auto is the layout that the shapes of the non-square weights show. If all weights
	// are square, it follows from the names: OutIn for PyTorch's, InOut for W1, W2, …. Names as Save writes them are PyTorch's
	// in .pt, .pth and .safetensors files, which Save does not write, and Save's in .npz files and folders.
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

// FileOrdered is a network with matrices whose axes have the same order in memory and in every file, such as the rows
// of an embedding. The [Layout] of dense weights does not concern them.
type FileOrdered interface {
	// InFileOrder returns these arrays.
	InFileOrder() []*graph.Param
}

// inFileOrder returns these arrays of all parts of a network.
func inFileOrder(net Network) []*graph.Param {
	switch n := net.(type) {
	case FileOrdered:
		return n.InFileOrder()
	case interface{ parts() []Network }:
		return union(n.parts(), inFileOrder)
	}
	return nil
}

// layouts are the layouts of the arrays of a network in a file.
type layouts struct {
	dense  Layout         // of dense weights
	others []*graph.Param // arrays that are the same in memory
}

// of returns the layout of an array.
func (l layouts) of(p *graph.Param) Layout {
	if slices.Contains(l.others, p) {
		return InOut
	}
	return l.dense
}
