package graph

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/go-valla/valla/internal/onnxfile"
	"gorgonia.org/tensor"
)

// Sheet is a computation for B examples that is to be written as a model of ONNX. Its stages are graphs, each of one element
// type, of which later ones take values of earlier ones.
type Sheet struct {
	B       int // number of examples
	stages  []*stage
	outputs []namedOutput
}

// stage is a graph of a Sheet.
type stage struct {
	b       *Builder
	inputs  []stageInput // values from elsewhere
	outputs []*Node      // nodes that later stages or the model take
}

// stageInput is a leaf that takes the place of a value.
type stageInput struct {
	leaf *Node
	from *Node         // of an earlier stage; nil for an input of the model
	typ  onnxfile.Type // of an input of the model
}

// namedOutput is an output of the model.
type namedOutput struct {
	name string        // in the model
	node *Node         // whose value it is
	typ  onnxfile.Type // of its elements
}

// Stage begins a stage of an element type.
func (s *Sheet) Stage(dt tensor.Dtype) *Builder {
	b := NewConverting(dt)
	s.stages = append(s.stages, &stage{b: b})
	return b
}

// Input adds an input of the model to the stage b: shape is the shape of one example, typ the type of its elements, which
// become elements of the stage.
func (s *Sheet) Input(b *Builder, name string, typ onnxfile.Type, shape ...int) *Node {
	n := b.Input(name, append([]int{s.B}, shape...)...)
	at := s.of(b)
	at.inputs = append(at.inputs, stageInput{leaf: n, typ: typ})
	return n
}

// Carry returns the value of a node of an earlier stage in the stage to.
func (s *Sheet) Carry(to *Builder, n *Node) *Node {
	if to.Err() != nil || n == nil || n.Graph() == to.Graph() {
		return n
	}
	at := s.of(to)
	for _, in := range at.inputs {
		if in.from == n {
			return in.leaf
		}
	}
	for _, from := range s.stages {
		if from.b.Graph() == n.Graph() {
			from.output(n)
			leaf := to.Input(fmt.Sprint("carried ", len(at.inputs)), n.Shape()...)
			at.inputs = append(at.inputs, stageInput{leaf: leaf, from: n})
			return leaf
		}
	}
	return to.Failf("graph: a node of no stage is carried")
}

// Output makes a node [B,…] an output of the model, with elements of the type typ.
func (s *Sheet) Output(name string, typ onnxfile.Type, n *Node) {
	for _, at := range s.stages {
		if n != nil && at.b.Graph() == n.Graph() {
			at.output(n)
		}
	}
	s.outputs = append(s.outputs, namedOutput{name, n, typ})
}

func (s *stage) output(n *Node) {
	if !slices.Contains(s.outputs, n) {
		s.outputs = append(s.outputs, n)
	}
}

// of returns the stage of a builder.
func (s *Sheet) of(b *Builder) *stage {
	i := slices.IndexFunc(s.stages, func(t *stage) bool { return t.b == b })
	if i < 0 {
		panic("graph: a builder of no stage")
	}
	return s.stages[i]
}

// Err returns the first error of the stages.
func (s *Sheet) Err() error {
	for _, t := range s.stages {
		if err := t.b.Err(); err != nil {
			return err
		}
	}
	for _, o := range s.outputs {
		if o.node == nil {
			return fmt.Errorf("graph: the output %q has no node", o.name)
		}
	}
	return nil
}

// examplesOf are pairs of numbers of examples, one after the other, for which a computation is written to find out which extents
// depend on the number. They are primes, which are seldom extents of a network.
var examplesOf = [][2]int{{97, 101}, {89, 103}, {107, 109}}

// WriteONNX returns the model of a computation, without a name and metadata. The function write writes the computation for
// the number of examples of a sheet. It is called for several numbers, and has to do the same for each. An error names
// an operation that has no form in ONNX.
func WriteONNX(write func(*Sheet) error) (*onnxfile.Model, error) {
	var err error
	for _, pair := range examplesOf {
		var sheets [2]*Sheet
		for i, n := range pair {
			sheets[i] = &Sheet{B: n}
			if err := write(sheets[i]); err != nil {
				return nil, err
			}
			if err := sheets[i].Err(); err != nil {
				return nil, err
			}
		}
		w := &ONNX{
			model: &onnxfile.Model{}, known: map[string]string{}, constant: map[string]bool{},
			reshaped: map[string]ONNXValue{}, uniform: map[string]float64{}, narrow: map[string]ONNXValue{},
		}
		if err = w.sheet(sheets[0], sheets[1]); err == nil {
			return w.model, w.model.Check()
		}
	}
	return nil, err
}

// elementType is ONNX's number of the element type of a graph.
func elementType(dt tensor.Dtype) onnxfile.Type {
	if dt == tensor.Float64 {
		return onnxfile.Double
	}
	return onnxfile.Float
}

// sheet writes a computation, given for two numbers of examples.
func (w *ONNX) sheet(a, b *Sheet) error {
	w.inputs(a)
	values := map[*Node]ONNXValue{} // of nodes of a
	for i, s := range a.stages {
		t := &transcript{w: w, sheets: [2]*Sheet{a, b}, stages: [2]*stage{s, b.stages[i]}, values: values}
		if err := t.write(); err != nil {
			return err
		}
	}
	for _, o := range a.outputs {
		v := w.cast(values[o.node], elementType(o.node.Dtype()), o.typ).Name
		w.model.Nodes = append(w.model.Nodes, onnxfile.Node{Op: "Identity", Inputs: []string{v}, Outputs: []string{o.name}})
		shape := o.node.Shape().Clone()
		shape[0] = 0
		w.model.Outputs = append(w.model.Outputs, onnxfile.Value{Name: o.name, Type: o.typ, Shape: shape})
	}
	w.tidy()
	return w.err
}

// inputs lists the inputs of the model.
func (w *ONNX) inputs(s *Sheet) {
	for _, t := range s.stages {
		for _, in := range t.inputs {
			if in.from == nil {
				shape := in.leaf.Shape().Clone()
				shape[0] = 0
				w.model.Inputs = append(w.model.Inputs, onnxfile.Value{Name: in.leaf.Name(), Type: in.typ, Shape: shape})
			}
		}
	}
}

// cast writes x with elements of another type. It casts what was reshaped before it is reshaped.
func (w *ONNX) cast(x ONNXValue, from, to onnxfile.Type) ONNXValue {
	if from == to {
		return x
	}
	if narrow, ok := w.narrow[x.Name]; ok && to == onnxfile.Float { // widened before
		return narrow
	}
	var y ONNXValue
	if before, ok := w.reshaped[x.Name]; ok {
		y = w.Reshape(w.cast(before, from, to), x.Shape...)
	} else {
		y = ONNXValue{w.Node("Cast", attr("to", int(to)), x.Name), x.Shape}
	}
	if from == onnxfile.Float && to == onnxfile.Double {
		w.narrow[y.Name] = x
	}
	return y
}

// transcript writes one stage, given for two numbers of examples.
type transcript struct {
	w      *ONNX
	sheets [2]*Sheet
	stages [2]*stage
	values map[*Node]ONNXValue // of nodes of the first sheet
	exprs  [2][]*expr          // in order
	shapes map[*expr][]Extent  // of the first stage
	names  map[*expr]ONNXValue // of the first stage, as far as they are written
	varies marks               // of the first stage
	named  bool                // the error of w names an operation
}

// write writes the nodes of the stage and names its outputs.
func (t *transcript) write() error {
	t.w.dt = t.stages[0].b.dt
	var outputs [2][]*expr
	for i, s := range t.stages {
		var leaves []*Node
		for _, in := range s.inputs {
			leaves = append(leaves, in.leaf)
		}
		var err error
		if outputs[i], err = rewritten(Ancestors(s.outputs...), s.outputs, Options{Varying: leaves}, false); err != nil {
			return err
		}
		t.exprs[i] = needed(outputs[i])
		if i == 0 {
			t.varies = changing(t.exprs[0], leaves)
		}
	}
	if err := t.same(); err != nil {
		return err
	}
	t.names, t.shapes = map[*expr]ONNXValue{}, map[*expr][]Extent{}
	for k, e := range t.exprs[0] {
		t.shapes[e] = t.extents(k)
	}
	if err := t.fold(outputs[0]); err != nil {
		return err
	}
	for i, n := range t.stages[0].outputs {
		t.values[n] = t.value(outputs[0][i])
	}
	return t.w.err
}

// same returns an error unless the two stages have the same operations on the same operands.
func (t *transcript) same() error {
	a, b := t.exprs[0], t.exprs[1]
	if len(a) != len(b) {
		return fmt.Errorf("graph: the computation has %d steps for %d examples and %d for %d", len(a), t.sheets[0].B, len(b), t.sheets[1].B)
	}
	at := [2]map[*expr]int{{}, {}}
	for k := range a {
		at[0][a[k]], at[1][b[k]] = k, k
		alike := (a[k].leaf == nil) == (b[k].leaf == nil) && len(a[k].in) == len(b[k].in) && len(a[k].shape) == len(b[k].shape)
		for i := range a[k].in {
			alike = alike && at[0][a[k].in[i]] == at[1][b[k].in[i]]
		}
		if alike && a[k].op != nil {
			alike = reflect.TypeOf(a[k].op) == reflect.TypeOf(b[k].op) && (shapedOp(a[k].op) || a[k].op.Key() == b[k].op.Key())
		}
		if !alike {
			return fmt.Errorf("graph: a step for %d examples is %s, for %d %s", t.sheets[0].B, stepName(a[k]), t.sheets[1].B, stepName(b[k]))
		}
	}
	return nil
}

// stepName names an expression in a message.
func stepName(e *expr) string {
	if e.leaf != nil {
		return fmt.Sprintf("the leaf %q", e.leaf.Name())
	}
	return fmt.Sprintf("%.80q to %v", e.op.Key(), e.shape)
}

// shapedOp reports whether the key of an operation has nothing that ONNX forms need but shapes.
func shapedOp(op computed) bool {
	switch op.(type) {
	case reshape, broadcastTo, sumTo, contract, conv, override:
		return true
	}
	return false
}

// extents returns the extents of expression k.
func (t *transcript) extents(k int) []Extent {
	p, q := t.exprs[0][k].shape, t.exprs[1][k].shape
	out := make([]Extent, len(p))
	for d := range p {
		out[d] = Extent{Fixed: p[d]}
		if p[d] != q[d] {
			step := t.sheets[1].B - t.sheets[0].B
			each := (q[d] - p[d]) / step
			out[d] = Extent{p[d] - each*t.sheets[0].B, each}
			if (q[d]-p[d])%step != 0 || each < 0 {
				t.w.Failf("graph: an extent is %d for %d examples and %d for %d", p[d], t.sheets[0].B, q[d], t.sheets[1].B)
			}
		}
	}
	return out
}

// value writes an expression, and its operands before, unless it is written.
func (t *transcript) value(e *expr) ONNXValue {
	if v, ok := t.names[e]; ok || t.w.err != nil {
		return v
	}
	out := t.shapes[e]
	if e.leaf != nil {
		t.names[e] = ONNXValue{t.leaf(e.leaf, out), out}
		return t.names[e]
	}
	in, alike := make([]ONNXValue, len(e.in)), true
	for i, a := range e.in {
		in[i] = t.value(a)
		_, ok := t.w.uniform[in[i].Name]
		alike = alike && ok
	}
	if alike && t.filled(e) {
		return t.names[e]
	}
	form, ok := e.op.(ONNXForm)
	if !ok && t.w.err == nil {
		t.w.Failf("the operation has no form in ONNX")
	}
	if t.w.err == nil {
		t.names[e] = ONNXValue{form.ONNX(t.w, in, out), out}
	}
	if t.w.err != nil && !t.named {
		t.w.err, t.named = fmt.Errorf("graph: %.80s: %w", e.op.Key(), t.w.err), true
	}
	return t.names[e]
}

// filled writes the value of an expression whose operands are the same number everywhere, if its elements are the same number, too.
func (t *transcript) filled(e *expr) bool {
	values, err := computed64(t.w.dt, []*expr{e})
	if err != nil || !uniform(values[0]) {
		return false
	}
	t.names[e] = ONNXValue{t.w.filled(values[0][0], t.shapes[e]), t.shapes[e]}
	return true
}

// uniform reports whether numbers are all the same.
func uniform(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != v[0] })
}

// filled returns an array of one number.
func (w *ONNX) filled(v float64, shape []Extent) string {
	name := w.Expand(ONNXValue{w.Array([]float64{v}, 1), extents(1)}, shape...).Name
	w.uniform[name] = v
	return name
}

// leaf writes a leaf: a value of an earlier stage, or an array.
func (t *transcript) leaf(n *Node, shape []Extent) string {
	for _, in := range t.stages[0].inputs {
		switch {
		case in.leaf != n:
		case in.from == nil:
			return t.w.cast(ONNXValue{n.Name(), shape}, in.typ, elementType(t.w.dt)).Name
		default:
			return t.w.cast(t.values[in.from], elementType(in.from.Dtype()), elementType(t.w.dt)).Name
		}
	}
	value, ok := n.Value().(*tensor.Dense)
	if !ok {
		return t.w.Failf("leaf %q has no value", n.Name())
	}
	v := Floats(value)
	if len(v) > 1 && uniform(v) {
		return t.w.filled(v[0], shape)
	}
	if slices.ContainsFunc(shape, Extent.free) {
		return t.repeated(n.Name(), v, shape)
	}
	return t.w.array(v, n.Shape()...)
}

// repeated writes an array whose rows are the same for each example.
func (t *transcript) repeated(name string, v []float64, shape []Extent) string {
	per, rest := shape[0].Each, t.w.fixed(shape[1:]...)
	one := per * size(rest)
	if shape[0].Fixed != 0 || one == 0 || t.w.err != nil {
		return t.w.Failf("graph: the constant %q depends on the number of examples", name)
	}
	for i, x := range v {
		if x != v[i%one] {
			return t.w.Failf("graph: the constant %q differs from example to example", name)
		}
	}
	single := append([]int{1, per}, rest...)
	full := append([]Extent{{Each: 1}, {Fixed: per}}, shape[1:]...)
	x := t.w.Expand(ONNXValue{t.w.array(v[:one], single...), extents(single...)}, full...)
	return t.w.Reshape(x, shape...).Name
}
