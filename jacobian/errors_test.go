package jacobian_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// linear is a network of two outputs.
func linear() network {
	return build(func(m *maker) formula { return m.dense("a", inputs, 2) }, tensor.Float64, 2)
}

func TestErrors(t *testing.T) {
	type kernel = jacobian.NTK
	twice := linear()
	twice.params = append(twice.params, twice.params[0])
	flat := linear()
	flat.forward = chain(flat.forward, func(b *builder, y *node) *node { return b.Sum(y) })
	fewer := linear()
	fewer.forward = chain(fewer.forward, func(b *builder, y *node) *node { return b.SumAxis(y, 0) })
	own, softmax := linear(), linear()
	softmax.forward = chain(softmax.forward, foreign(func(n *node) (*node, error) { return gorgonia.SoftMax(n) }))
	for _, c := range []struct {
		name, want string
		net        layers.Network
		call       func(b *builder, k kernel)
	}{
		{"no parameters, kernel", "jacobian: the network has no parameters", layers.Activation("tanh"),
			func(b *builder, k kernel) { k.Diag(b, b.Input("x", 4, inputs)) }},
		{"no parameters, rows", "jacobian: the network has no parameters", layers.Activation("tanh"),
			func(b *builder, k kernel) { k.Rows(b, b.Input("x", 4, inputs)) }},
		{"parameter twice", `jacobian: the network lists parameter "a.weight" twice`, twice,
			func(b *builder, k kernel) { k.Diag(b, b.Input("x", 4, inputs)) }},
		{"input made of a parameter", `jacobian: the input depends on the network's parameter "a.weight"`, own,
			func(b *builder, k kernel) { k.Diag(b, b.Transpose(b.Param(own.params[0]))) }},
		{"scalar output", "jacobian: the network maps shape (4, 3) to (); expected [B,…] to [B,C]", flat,
			func(b *builder, k kernel) { k.Diag(b, b.Input("x", 4, inputs)) }},
		{"other batch in the output", "jacobian: the network maps shape (4, 3) to (1, 2); expected [B,…] to [B,C]", fewer,
			func(b *builder, k kernel) { k.Diag(b, b.Input("x", 4, inputs)) }},
		{"too few classes", "jacobian: 3 classes for inputs of shape (4, 3)", linear(),
			func(b *builder, k kernel) { k.Gram(b, b.Input("z", 4, inputs), []int{0, 0, 0}) }},
		{"class too high", "jacobian: class[1] is 2, the network has 2 outputs", linear(),
			func(b *builder, k kernel) { k.Gram(b, b.Input("z", 2, inputs), []int{0, 2}) }},
		{"negative class", "jacobian: class[0] is -1, the network has 2 outputs", linear(), func(b *builder, k kernel) {
			k.Cross(b, b.Input("x", 4, inputs), b.Input("z", 2, inputs), []int{-1, 0})
		}},
		{"nil x", "jacobian: the input is nil", linear(), func(b *builder, k kernel) { k.Diag(b, nil) }},
		{"nil z", "jacobian: the input is nil", linear(), func(b *builder, k kernel) { k.Gram(b, nil, []int{0}) }},
		{"wrong width", "shapes (4, 5) and (3, 2) do not match", linear(), func(b *builder, k kernel) { k.Diag(b, b.Input("x", 4, 5)) }},
		{"operation without derivative", "the second derivative of Gorgonia's SoftMax panics", softmax, func(b *builder, k kernel) { k.Diag(b, b.Input("x", 4, inputs)) }},
	} {
		for _, alg := range []bool{factored, dense} {
			t.Run(fmt.Sprint(c.name, " ", alg), func(t *testing.T) {
				b := graph.NewBuilder(tensor.Float64)
				c.call(b, jacobian.NTK{Net: c.net, Dense: alg})
				if b.Err() == nil || !strings.Contains(b.Err().Error(), c.want) {
					t.Errorf("error %v, want %q in it", b.Err(), c.want)
				}
			})
		}
	}
}

// TestErrorsPass: after an error every method does nothing.
func TestErrorsPass(t *testing.T) {
	b := graph.NewBuilder(tensor.Float64)
	x := b.Input("x", 2, inputs)
	b.Failf("first")
	k := jacobian.NTK{Net: linear()}
	if k.Diag(b, x) != nil || k.Cross(b, x, x, []int{0, 0}) != nil || k.Gram(b, x, []int{0, 0}) != nil || k.Rows(b, x) != nil {
		t.Error("a node in spite of the error")
	}
	if b.Err().Error() != "first" {
		t.Errorf("error %v", b.Err())
	}
}
