package graph

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// What follows is for tests outside the package, which see nodes only.

// RunRewritten evaluates what Compile makes of outputs, every expression into an array
// of its own: no buffer is shared and nothing is planned. The leaves are those without a
// value.
func RunRewritten(o Options, outputs, leaves []*Node, in [][]float64) ([][]float64, error) {
	if outputs[0].Dtype() == tensor.Float64 {
		return runRewritten[float64](o, outputs, leaves, in)
	}
	return runRewritten[float32](o, outputs, leaves, in)
}

func runRewritten[T kernel.Float](o Options, outputs, leaves []*Node, in [][]float64) ([][]float64, error) {
	exprs, err := rewritten(Ancestors(outputs...), outputs, o, true)
	if err != nil {
		return nil, err
	}
	vals := make(map[*expr][]T)
	for _, e := range needed(exprs) {
		y, err := evaluated(e, vals, leaves, in)
		if err != nil {
			return nil, err
		}
		vals[e] = y
	}
	results := make([][]float64, len(exprs))
	for i, e := range exprs {
		for _, v := range vals[e] {
			results[i] = append(results[i], float64(v))
		}
	}
	return results, nil
}

func evaluated[T kernel.Float](e *expr, vals map[*expr][]T, leaves []*Node, in [][]float64) ([]T, error) {
	if i := slices.Index(leaves, e.leaf); e.leaf != nil && i >= 0 {
		return converted[float64, T](in[i]), nil
	}
	if e.leaf != nil {
		return slice[T](e.leaf.Value())
	}
	f, err := loopOf[T](e.op, shapesOf(e.in), e.shape)
	if err != nil {
		return nil, err
	}
	x := make([][]T, len(e.in))
	for i, a := range e.in {
		x[i] = slices.Clone(vals[a])
	}
	y := make([]T, size(e.shape))
	return y, f(y, x)
}

// RewrittenSteps counts the operations that a program of outputs runs once and in each
// run, by the definition: a reshape is free, and an output that is a leaf, reshaped or
// not, is copied in each run.
func RewrittenSteps(outputs, varying []*Node) (once, each int) {
	exprs, err := rewritten(Ancestors(outputs...), outputs, Options{Varying: varying}, true)
	if err != nil {
		panic(err)
	}
	order := needed(exprs)
	marked := changing(order, varying)
	for _, e := range order {
		root := e
		for isReshape(root) {
			root = root.in[0]
		}
		switch {
		case root.leaf != nil && slices.Contains(exprs, e):
			each++
		case root.leaf != nil || root != e:
		case marked.has(e):
			each++
		default:
			once++
		}
	}
	return once, each
}

func isReshape(e *expr) bool {
	_, ok := e.op.(reshape)
	return ok
}

// Listing returns the operations that Compile makes of outputs, with the lines of their
// operands; the last lines name the outputs.
func Listing(outputs ...*Node) []string {
	exprs, err := rewritten(Ancestors(outputs...), outputs, Options{}, true)
	if err != nil {
		panic(err)
	}
	line := make(map[*expr]int)
	var lines []string
	for i, e := range needed(exprs) {
		line[e] = i
		if e.leaf != nil {
			lines = append(lines, fmt.Sprint("leaf ", e.leaf.Name()))
			continue
		}
		text := e.op.Key()
		for _, a := range e.in {
			text += fmt.Sprint(" ", line[a])
		}
		lines = append(lines, text)
	}
	for _, e := range exprs {
		lines = append(lines, fmt.Sprint("output ", line[e]))
	}
	return lines
}

// TestReshapedBefore: a reshape moves before a repetition where no group of axes is
// repeated in part.
func TestReshapedBefore(t *testing.T) {
	type shape = tensor.Shape
	for _, c := range []struct{ from, full, to, want shape }{
		{shape{1, 4}, shape{3, 4}, shape{3, 2, 2}, shape{1, 2, 2}},
		{shape{4}, shape{3, 4}, shape{3, 2, 2}, shape{1, 2, 2}},
		{shape{3, 1}, shape{3, 4}, shape{3, 2, 2}, shape{3, 1, 1}},
		{shape{3, 1}, shape{3, 4}, shape{1, 3, 1, 4, 1}, shape{1, 3, 1, 1, 1}},
		{shape{2, 3, 1}, shape{2, 3, 4}, shape{6, 4}, shape{6, 1}},
		{shape{2, 1, 4}, shape{2, 3, 4}, shape{2, 12}, nil},
		{shape{1, 3}, shape{2, 3}, shape{6}, nil},
		{shape{1, 3}, shape{2, 3}, shape{3, 2}, nil},
		{shape{1}, shape{2, 3}, shape{3, 2}, shape{1, 1}},
		{shape{}, shape{1, 1}, shape{}, shape{}},
		{shape{1, 1, 5}, shape{1, 2, 5}, shape{2, 1, 5, 1}, shape{1, 1, 5, 1}},
	} {
		got, ok := reshapedBefore(c.from, c.full, c.to)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%v broadcast to %v and reshaped to %v: %v %t, want %v", c.from, c.full, c.to, got, ok, c.want)
		}
	}
}

// TestUnrepeated: the shape of a sum before it is repeated.
func TestUnrepeated(t *testing.T) {
	type shape = tensor.Shape
	for _, c := range []struct{ from, full, to, want shape }{
		{shape{3, 1}, shape{3, 4}, shape{1, 4}, shape{1, 1}},
		{shape{3, 1}, shape{3, 4}, shape{4}, shape{1}},
		{shape{3, 1}, shape{3, 4}, shape{3, 1}, nil},
		{shape{4}, shape{3, 4}, shape{3, 1}, shape{1}},
		{shape{4}, shape{3, 4}, shape{4}, nil},
		{shape{2, 3, 1}, shape{2, 3, 4}, shape{2, 1, 4}, shape{2, 1, 1}},
	} {
		got, ok := unrepeated(c.from, c.full, c.to)
		if ok != (c.want != nil) || ok && !slices.Equal(got, c.want) {
			t.Errorf("%v broadcast to %v and summed to %v: %v %t, want %v", c.from, c.full, c.to, got, ok, c.want)
		}
	}
}

// Keys have shapes as fmt prints them.
func TestShapeText(t *testing.T) {
	for _, s := range []tensor.Shape{{}, {7}, {2, 30}, {1, 0, -5, 1 << 40}} {
		if got, want := shapeText(s), fmt.Sprint(s); got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}
