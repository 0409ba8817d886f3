package task

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// Inputs describe how a network takes examples: as (x − Mean)/Std. Bytes, such as the bytes of
// images, are divided by 255 first.
type Inputs struct {
	Features []string `json:"features,omitempty"` // names of the columns of a table; nil for other arrays
	Shape    []int    `json:"shape"`              // shape of one example, as the network takes it: [D] or [C,H,W]
	// Mean has one number for each column [D], or for each channel [C] if an example is [C,H,W]. With nil the
	// network takes the values as they are.
	Mean []float64 `json:"mean,omitempty"`
	Std  []float64 `json:"std,omitempty"` // standard deviations, as many as means
	// Encoding makes the features of the columns of a table; nil if they are the columns.
	Encoding *data.Encoding `json:"encoding,omitempty"`
	// Paddings make columns of lists of different lengths in a Parquet file; nil for none.
	Paddings []data.Padding `json:"paddings,omitempty"`
	// Bytes says that the network was made for examples of bytes. Numbers that are no bytes then stand for bytes that
	// are divided by 255 already, and numbers far from 0 to 1 are refused.
	Bytes bool `json:"bytes,omitempty"`
	// Whole says which elements of an example the network takes for whole numbers, such as numbers of tokens; nil if
	// none is. The network tells it, so that files have it not.
	Whole []bool `json:"-"`

	first   int   // number of the first row, for messages
	origins []int // numbers of the rows, for messages; nil where they count from first on
}

// leastPixel and mostPixel bound the numbers that stand for bytes divided by 255: methods that resize images leave 0 to
// 1 a little.
const leastPixel, mostPixel = -0.5, 1.5

// Columns returns the names of the columns of a table that are read; nil for other arrays.
func (in Inputs) Columns() []string {
	if in.Encoding != nil {
		return in.Encoding.Names()
	}
	return in.Features
}

// Standardized returns the inputs of a table with a scaling that gives the rows of a set the mean 0 and the
// standard deviation 1.
func Standardized(s *data.Set) (Inputs, error) {
	scale, err := data.FitStandardizer(s.X)
	if err != nil {
		return Inputs{}, err
	}
	return Inputs{Features: s.Features, Shape: s.X.Shape()[1:].Clone(), Mean: scale.Mean, Std: scale.Std, Encoding: s.Encoding, Paddings: s.Paddings}, nil
}

// Check returns an error if a field is wrong.
func (in Inputs) Check() error {
	if len(in.Shape) == 0 || slices.Min(in.Shape) < 1 {
		return fmt.Errorf("inputs of shape %v, expected positive numbers", in.Shape)
	}
	if in.Features != nil && !slices.Equal(in.Shape, []int{len(in.Features)}) {
		return fmt.Errorf("inputs of shape %v with %d names of features", in.Shape, len(in.Features))
	}
	if e := in.Encoding; e != nil {
		if err := e.Check(); err != nil {
			return err
		}
		if f := e.Features(); !slices.Equal(f, in.Features) {
			return fmt.Errorf("an encoding with the features %s, expected %s", list(f), list(in.Features))
		}
	}
	if err := data.CheckPaddings(in.Paddings); err != nil {
		return err
	}
	if in.Mean == nil && in.Std == nil {
		return nil
	}
	if d := in.Shape[0]; len(in.Mean) != d || len(in.Std) != d {
		return fmt.Errorf("inputs: %d means and %d standard deviations, expected %d of each", len(in.Mean), len(in.Std), d)
	}
	for i := range in.Mean {
		if !kernel.Finite(in.Mean[i]) || !positive(in.Std[i]) {
			return fmt.Errorf("inputs: column %d: mean %g, standard deviation %g, expected finite values and a positive deviation", i, in.Mean[i], in.Std[i])
		}
	}
	return nil
}

// From returns inputs whose errors count the rows from a number on.
func (in Inputs) From(first int) Inputs {
	in.first = first
	return in
}

// Apply converts the inputs x [N,…], which are float64, float32 or uint8 in the units of the
// data, to the inputs [N,Shape…] of the network, in the element type dt. The axes of x may
// differ from Shape as [Inputs.Takes] allows. A value that is not finite is an error
// that names its place.
func (in Inputs) Apply(x *tensor.Dense, dt tensor.Dtype) (*tensor.Dense, error) {
	if err := rowMajor("inputs", x); err != nil {
		return nil, err
	}
	n := x.Shape()[0]
	if !in.Takes(x.Shape()[1:]) {
		return nil, fmt.Errorf("inputs of shape %v, expected [N] examples of shape %v", x.Shape(), in.Shape)
	}
	shape := append([]int{n}, in.Shape...)
	if dt == tensor.Float32 {
		return applied[float32](in, x, shape)
	}
	return applied[float64](in, x, shape)
}

// Takes reports whether examples of a shape can be inputs: they have as many numbers as Shape, and the same order. Axes of one
// element do not count, and one of the two may have a single axis. Images whose channels are their last axis are other images.
func (in Inputs) Takes(example []int) bool {
	wide := func(shape []int) []int {
		return slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	}
	a, b := wide(example), wide(in.Shape)
	return slices.Equal(a, b) || min(len(a), len(b)) == 1 && tensor.Shape(a).TotalSize() == tensor.Shape(b).TotalSize()
}

// applied is Apply for one element type.
func applied[T float](in Inputs, x *tensor.Dense, shape []int) (*tensor.Dense, error) {
	v, err := scaled[T](in, x)
	if err != nil {
		return nil, err
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v)), nil
}

// float is an element type of networks.
type float interface{ float32 | float64 }

// scaled applies the scaling to the elements of x.
func scaled[T float](in Inputs, x *tensor.Dense) ([]T, error) {
	switch v := x.Data().(type) {
	case []uint8:
		return bytes[T](in, v), nil
	case []float32:
		return floats[T](in, v)
	case []float64:
		return floats[T](in, v)
	}
	return nil, fmt.Errorf("inputs are %v, expected float64, float32 or uint8", x.Dtype())
}

// bytes scales bytes by a table of the 256 values of each column or channel. Each operation is
// rounded to T, as in torchvision's ToTensor and Normalize.
func bytes[T float](in Inputs, v []uint8) []T {
	table := make([][256]T, max(1, len(in.Mean)))
	for c := range table {
		for b := range table[c] {
			value := T(b) / 255
			if in.Mean != nil {
				value = (value - T(in.Mean[c])) / T(in.Std[c])
			}
			table[c][b] = value
		}
	}
	out, run := make([]T, len(v)), in.run()
	for i, b := range v {
		out[i] = table[i/run%len(table)][b]
	}
	return out
}

// floats scales numbers. The computation is in float64.
func floats[T, F float](in Inputs, v []F) ([]T, error) {
	out := make([]T, len(v))
	return out, scale(in, out, v)
}

// scale writes what floats returns to out.
func scale[T, F float](in Inputs, out []T, v []F) error {
	run, d := in.run(), max(1, len(in.Mean))
	for i, x := range v {
		value := float64(x)
		if !kernel.Finite(value) {
			return fmt.Errorf("%s: expected a finite number, found %g", in.place(i), value)
		}
		if in.Bytes && (value < leastPixel || value > mostPixel) {
			return fmt.Errorf("%s: expected a byte divided by 255, from 0 to 1, or bytes (UINT8), found %g", in.place(i), value)
		}
		if in.Whole != nil && in.Mean == nil && in.Whole[i%len(in.Whole)] && value != math.Trunc(value) {
			return fmt.Errorf("%s: expected a whole number, as the network takes it, found %g", in.place(i), value)
		}
		if in.Mean != nil {
			c := i / run % d
			value = (value - in.Mean[c]) / in.Std[c]
		}
		if out[i] = T(value); !kernel.Finite(float64(out[i])) {
			return fmt.Errorf("%s: %g is out of range for a network in %T", in.place(i), float64(x), out[i])
		}
	}
	return nil
}

// Scale is [Inputs.Apply] for numbers in slices: Scale writes the scaled examples v [N·D] to out [N·D]. An example
// has D numbers. Scale does not round the numbers for a network in float32.
func (in Inputs) Scale(out, v []float64, dt tensor.Dtype) error {
	if d := tensor.Shape(in.Shape).TotalSize(); len(v) == 0 || len(v)%d != 0 || len(out) != len(v) {
		return fmt.Errorf("%d numbers into %d, expected a multiple of %d", len(v), len(out), d)
	}
	if err := scale(in, out, v); err != nil || dt == tensor.Float64 {
		return err
	}
	for i, value := range out {
		if !kernel.Finite(float64(float32(value))) {
			return fmt.Errorf("%s: %g is out of range for a network in %T", in.place(i), v[i], float32(0))
		}
	}
	return nil
}

// run returns the number of consecutive elements with the same Mean and Std.
func (in Inputs) run() int {
	if len(in.Shape) < 2 {
		return 1
	}
	return tensor.Shape(in.Shape[1:]).TotalSize()
}

// place returns the name of element i for a message.
func (in Inputs) place(i int) string {
	size := tensor.Shape(in.Shape).TotalSize()
	row := in.first + i/size
	if in.origins != nil {
		row = in.origins[i/size]
	}
	if in.Features != nil {
		return fmt.Sprintf("row %d (counting from 0), feature %q", row, in.Features[i%size])
	}
	return fmt.Sprintf("example %d (counting from 0), element %d", row, i%size)
}
