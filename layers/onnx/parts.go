package onnx

import (
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// kind returns the part as what methods look for: an affine layer, a normalisation or an activation.
func (p stretch) kind() layers.Network {
	var moved []Node
	for _, node := range p.own() {
		if slices.ContainsFunc(node.Outputs, func(name string) bool { return p.flow.depends[name] }) {
			moved = append(moved, node)
		}
	}
	if a, ok := p.affine(moved); ok {
		return a
	}
	if len(moved) == 1 && moved[0].Op == "BatchNormalization" && p.trains(moved[0].Inputs[1]) && p.trains(moved[0].Inputs[2]) {
		return normaliser{p, moved[0]}
	}
	if len(p.Params()) == 0 && p.from != "" && !slices.ContainsFunc(moved, func(node Node) bool { return !p.pointwise(node) }) {
		return activation{p}
	}
	return p
}

// trains reports whether a value is an array that is trained.
func (p stretch) trains(name string) bool {
	return slices.Contains(p.flow.params, p.flow.arrays[name]) && p.flow.arrays[name] != nil
}

// elementwiseOps are operators of each element alone.
var elementwiseOps = []string{"Relu", "Tanh", "Sigmoid", "Softplus", "Erf", "Exp", "Log", "Sqrt", "Sin", "Cos", "Neg", "Abs", "Reciprocal", "Mish", "HardSwish", "Softsign",
	"Gelu", "LeakyRelu", "Elu", "Celu", "Selu", "HardSigmoid", "Clip", "Tan", "Atan", "Sinh", "Cosh", "Asinh", "ThresholdedRelu", "Shrink", "Swish", "Identity", "Cast"}

// pointwise reports whether a node is a function of each element alone: elementwise, or of pairs of values of one shape
// or of constants of one element.
func (p stretch) pointwise(node Node) bool {
	if slices.Contains(elementwiseOps, node.Op) {
		return true
	}
	if !slices.Contains([]string{"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min"}, node.Op) {
		return false
	}
	shape := p.flow.shapes[node.Outputs[0]]
	for _, name := range node.Inputs {
		if p.flow.depends[name] && !slices.Equal(p.flow.shapes[name], shape) || !p.flow.depends[name] && !p.single(name) {
			return false
		}
	}
	return true
}

// single reports whether a constant has one element.
func (p stretch) single(name string) bool {
	if i := slices.IndexFunc(p.flow.Constants, func(c Tensor) bool { return c.Name == name }); i >= 0 {
		return product(p.flow.Constants[i].Shape) == 1
	}
	if i, ok := p.flow.maker[name]; ok && p.flow.Nodes[i].Op == "Constant" {
		a := p.flow.Nodes[i].Attributes
		return a["value"].Tensor == nil && len(a["value_floats"].Floats) < 2 && len(a["value_ints"].Ints) < 2 || a["value"].Tensor != nil && product(a["value"].Tensor.Shape) == 1
	}
	return false
}

// activation is a function of each element.
type activation struct{ stretch }

// Pointwise implements layers.Site.
func (activation) Pointwise() bool { return true }

// normaliser is a batch normalisation.
type normaliser struct {
	stretch
	node Node
}

// Scale implements layers.Normaliser.
func (n normaliser) Scale() (gamma, beta *graph.Param) {
	return n.flow.arrays[n.node.Inputs[1]], n.flow.arrays[n.node.Inputs[2]]
}

// affine is a dense layer or a convolution, perhaps with a node that adds the bias.
type affine struct {
	stretch
	w, bias *graph.Param // bias may be nil
}

// affine returns the part as an affine layer, if the nodes that take part are one.
func (p stretch) affine(moved []Node) (layers.Affine, bool) {
	if len(moved) == 0 || len(moved[0].Inputs) < 2 || !p.flow.depends[moved[0].Inputs[0]] || !p.trains(moved[0].Inputs[1]) {
		return nil, false
	}
	for len(moved) > 1 && p.to == p.flow.Output && slices.Contains(reshapes, moved[len(moved)-1].Op) {
		moved = moved[:len(moved)-1]
	}
	first := moved[0]
	rank := len(p.flow.shapes[first.Inputs[0]])
	a := affine{stretch: p, w: p.flow.arrays[first.Inputs[1]]}
	bias := ""
	switch {
	case first.Op == "Gemm" && first.plain() && len(moved) == 1:
		bias = at(first.Inputs, 2)
	case first.Op == "Conv" && rank == 4 && len(moved) == 1:
		bias = at(first.Inputs, 2)
	case first.Op == "MatMul" && rank == 2 && len(moved) == 1:
	case first.Op == "MatMul" && rank == 2 && len(moved) == 2 && moved[1].Op == "Add" && slices.ContainsFunc(moved[1].Inputs, p.trains):
		bias = moved[1].Inputs[slices.IndexFunc(moved[1].Inputs, p.trains)]
	default:
		return nil, false
	}
	out := p.flow.shapes[first.Outputs[0]]
	if bias != "" && (len(out) < 2 || !p.trains(bias) || !slices.Equal(p.flow.arrays[bias].Value.Shape(), []int{out[1].n})) {
		return nil, false
	}
	a.bias = p.flow.arrays[bias]
	if first.Op == "Conv" {
		return filtering{a}, true
	}
	return a, true
}

// plain reports whether a Gemm is x·W + b, or x·Wᵀ + b, without factors.
func (n Node) plain() bool {
	for _, name := range []string{"alpha", "beta"} {
		if a, ok := n.Attributes[name]; ok && a.Float != 1 {
			return false
		}
	}
	return n.Attributes["transA"].Int == 0
}

// at returns element i of a list, "" if there is none.
func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// Weights implements layers.Affine.
func (a affine) Weights() (w, bias *graph.Param) { return a.w, a.bias }

// Apply implements layers.Affine.
func (a affine) Apply(b *graph.Builder, x, w, bias *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return a.write(b, x, func(array Array) *graph.Node {
		switch p := a.flow.arrays[array.Name]; {
		case p == a.w:
			return w
		case p == a.bias && bias != nil:
			return bias
		default:
			return b.Fill(0, array.Shape...)
		}
	})
}

// filtering is a convolution.
type filtering struct{ affine }

// Filters implements layers.Filtering.
func (f filtering) Filters(b *graph.Builder, w *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s := w.Shape()
	return b.Reshape(w, s[0], product(s[1:]))
}
