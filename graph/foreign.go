package graph

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// foreignPullback calls the SymDiff of an operation that is not ours.
func (b *Builder) foreignPullback(o gorgonia.Op, in []*Node, out, ct *Node, want func(i int) bool) []*Node {
	if reason := refused(o); reason != "" {
		b.Failf("graph: differentiating %v: %s", o, reason)
		return make([]*Node, len(in))
	}
	cts, err := symDiff(o, in, out, ct)
	for i := range cts {
		if err == nil && want(i) {
			cts[i], err = b.fit(o, i, in[i], cts[i])
		}
	}
	if err != nil {
		b.Failf("graph: differentiating %v: %w", o, err)
		return make([]*Node, len(in))
	}
	return cts
}

// symDiff makes Gorgonia's panics errors. A cotangent is nil where the operation
// says that it is not differentiable.
func symDiff(o gorgonia.Op, in []*Node, out, ct *Node) (cts gorgonia.Nodes, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	sd, ok := o.(gorgonia.SDOp)
	if !ok {
		return nil, fmt.Errorf("%T has no symbolic derivative", o)
	}
	differentiable := sd.DiffWRT(len(in))
	if !slices.Contains(differentiable, true) {
		return make(gorgonia.Nodes, len(in)), nil
	}
	if cts, err = sd.SymDiff(slices.Clone(in), out, ct); err != nil {
		return nil, err
	}
	if len(cts) != len(in) || len(differentiable) != len(in) {
		return nil, errors.New("it does not give one cotangent for each input")
	}
	for i := range cts {
		if !differentiable[i] {
			cts[i] = nil
		}
	}
	return cts, nil
}

// fit gives the cotangent of input i its input's shape, which may differ in axes of
// extent 1: Gorgonia's Sum drops them. Any other difference would broadcast to a
// wrong number.
func (b *Builder) fit(o gorgonia.Op, i int, in, ct *Node) (*Node, error) {
	switch {
	case ct == nil && piecewiseConstant(o):
		return nil, nil
	case ct == nil:
		return nil, fmt.Errorf("it is not differentiable in input %d", i)
	case !slices.Equal(withoutUnits(ct.Shape()), withoutUnits(in.Shape())):
		return nil, fmt.Errorf("it gives input %d of shape %v a cotangent of shape %v", i, in.Shape(), ct.Shape())
	}
	return b.reshaped(ct, in.Shape()...), b.err
}

func withoutUnits(s tensor.Shape) []int {
	return slices.DeleteFunc(slices.Clone(s), func(n int) bool { return n == 1 })
}

// stockName is the type of an operation of Gorgonia itself, "" for others.
func stockName(o gorgonia.Op) string {
	t := reflect.TypeOf(o)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() != reflect.TypeFor[gorgonia.Node]().PkgPath() {
		return ""
	}
	return t.Name()
}

// checked are the stock operations whose first and second derivatives agree with
// finite differences (Gorgonia v0.9.18).
var checked = map[string]bool{
	"elemUnaryOp": true, "elemBinOp": true, "minBetween": true, "maxBetween": true,
	"linAlgBinOp": true, "tensordotOp": true, "sumOp": true, "maxOp": true,
	"repeatOp": true, "sizeOp": true, "transposeOp": true, "reshapeOp": true,
	"concatOp": true, "sliceOp": true,
}

// piecewiseConstant tells the stock operations that have the derivative 0 where they
// are not differentiable in an input: comparisons, signs, sizes and counts.
func piecewiseConstant(o gorgonia.Op) bool { return checked[stockName(o)] }

// wrong are stock operations whose derivatives Gorgonia v0.9.18 computes wrongly
// without saying so, or that panic or end the process, by type or by name.
var wrong = map[string]string{
	"sliceIncrOp":         "the second derivative of Gorgonia's Slice is wrong; use Builder.Slice",
	"im2colOp":            "Gorgonia's Conv2d ends the process when differentiated twice",
	"col2imOp":            "Gorgonia's Conv2d ends the process when differentiated twice",
	"softmaxOp":           "the second derivative of Gorgonia's SoftMax panics; use Builder.LogSoftmax",
	"softmaxDiffOp":       "the second derivative of Gorgonia's SoftMax panics; use Builder.LogSoftmax",
	"BatchNormOp":         "Gorgonia's BatchNorm keeps state and has no second derivative",
	"batchnormDiffOp":     "Gorgonia's BatchNorm keeps state and has no second derivative",
	"maxPoolOp":           "the second derivative of Gorgonia's MaxPool panics",
	"avgPoolOp":           "the derivative of Gorgonia's average pooling panics",
	"globalAveragePoolOp": "Gorgonia's GlobalAveragePool2D has no symbolic derivative",
	"invSqrt":             "the derivative of Gorgonia's InverseSqrt is wrong; use Builder.Sqrt and Div",
	"log2":                "the derivative of Gorgonia's Log2 is wrong; use Builder.Log and Scale",
	"a ⊗ b":               "the derivative of Gorgonia's OuterProd is wrong; use Builder.MatMul",
}

// refused says why an operation may not be differentiated; "" if it may.
func refused(o gorgonia.Op) string {
	name := stockName(o)
	for _, key := range []string{name, fmt.Sprint(o)} {
		if reason, ok := wrong[key]; ok && name != "" {
			return reason
		}
	}
	if name != "" && !checked[name] {
		return "its derivatives are not among those of Gorgonia that were checked"
	}
	return ""
}
