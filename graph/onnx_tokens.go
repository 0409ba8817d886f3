package graph

// ONNX implements ONNXForm: 1 − |x − y| for whole numbers, and 0 below.
func (r sameTokens) ONNX(w *ONNX, in []ONNXValue, _ []Extent) string {
	x, y := in[0].Shape, in[1].Shape
	return w.same(w.Reshape(w.fromStart(in[0], r.rows), x[0], x[1], Extent{Fixed: 1}), w.Reshape(w.fromStart(in[1], r.rows), y[0], Extent{Fixed: 1}, y[1]))
}

// fromStart returns places in a table of so many rows, rounded to whole numbers, counted from the start.
func (w *ONNX) fromStart(x ONNXValue, rows int) ONNXValue {
	at := w.Node("Round", nil, x.Name)
	end := w.Node("Mul", nil, stepONNX(w, w.Node("Neg", nil, at)), w.Number(float64(rows)))
	return ONNXValue{w.Node("Add", nil, at, end), x.Shape}
}

// same returns 1 where whole numbers x and y, which broadcast, are the same, and 0 elsewhere.
func (w *ONNX) same(x, y ONNXValue) string {
	return w.Node("Relu", nil, affineONNX(-1, 1)(w, w.Node("Abs", nil, w.Node("Sub", nil, x.Name, y.Name))))
}

// firstTokens returns the places [B,T] from the start, 1 at the first place of each token of an example and 0 at others,
// and the pairs [B,T,T] of the same token.
func (w *ONNX) firstTokens(tokens ONNXValue, rows int) (at, first, pairs ONNXValue) {
	s := tokens.Shape
	steps := w.fixed(s[1])[0]
	at = w.fromStart(tokens, rows)
	pairs = ONNXValue{w.same(w.Reshape(at, s[0], s[1], Extent{Fixed: 1}), w.Reshape(at, s[0], Extent{Fixed: 1}, s[1])), []Extent{s[0], s[1], s[1]}}
	before := make([]float64, steps*steps)
	for i := range steps {
		for j := range i {
			before[i*steps+j] = 1
		}
	}
	earlier := w.sum(ONNXValue{w.Node("Mul", nil, pairs.Name, w.Array(before, steps, steps)), pairs.Shape}, 2)
	first = ONNXValue{w.Node("Relu", nil, affineONNX(-1, 1)(w, w.Reshape(earlier, s...).Name)), s}
	return at, first, pairs
}

// per returns how many rows there are for each example.
func (w *ONNX) per(rows, examples Extent) Extent {
	switch {
	case rows == examples:
		return Extent{Fixed: 1}
	case examples.free() && examples.Fixed == 0 && rows.Fixed == 0 && rows.Each%examples.Each == 0:
		return Extent{Fixed: rows.Each / examples.Each}
	case !examples.free() && !rows.free():
		return Extent{Fixed: rows.Fixed / examples.Fixed}
	}
	w.Failf("several rows for an example")
	return Extent{Fixed: 1}
}

// ONNX implements ONNXForm: products with zeros and ones.
func (r mergeTokens) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	rows, tokens := in[0].Shape, in[1].Shape
	_, first, pairs := w.firstTokens(in[1], r.rows)
	one := Extent{Fixed: 1}
	to := w.Node("Mul", nil, pairs.Name, w.Reshape(first, tokens[0], tokens[1], one).Name)
	merge := w.Reshape(ONNXValue{to, pairs.Shape}, tokens[0], one, tokens[1], tokens[1])
	y := w.matMul(merge, w.Reshape(in[0], tokens[0], w.per(rows[0], tokens[0]), rows[1], rows[2]), r.spread, false)
	return w.Reshape(y, out...).Name
}

// ONNX implements ONNXForm: products of all pairs of places, of which those of one token are added up.
func (r tokenDots) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	one := Extent{Fixed: 1}
	left, x, right, z := in[0].Shape, in[1].Shape, in[2].Shape, in[3].Shape
	s, k := w.per(left[0], x[0]), w.per(right[0], z[0])
	at, first, _ := w.firstTokens(in[1], r.rows)
	others, own, _ := w.firstTokens(in[3], r.rows)
	wide := func(v ONNXValue) ONNXValue { return w.Reshape(v, x[0], one, x[1], one, one, one) }
	long := func(v ONNXValue) ONNXValue { return w.Reshape(v, one, one, one, z[0], one, z[1]) }
	pairs := w.Node("Mul", nil, w.Node("Mul", nil, w.same(wide(at), long(others)), wide(first).Name), long(own).Name)
	dots := w.matMul(w.Reshape(in[0], w.product(left[:2]), left[2]), w.Reshape(in[2], w.product(right[:2]), right[2]), false, true)
	all := []Extent{x[0], s, x[1], z[0], k, z[1]}
	y := w.sum(ONNXValue{w.Node("Mul", nil, w.Reshape(dots, all...).Name, pairs), all}, 2, 5)
	return w.Reshape(y, out...).Name
}
