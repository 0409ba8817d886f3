package graph

// ONNX implements ONNXForm. Rows that are added to tables of their own are products with zeros and ones.
func (r embed) ONNX(w *ONNX, in []ONNXValue, out []Extent) string {
	if !r.scatter && !r.stacked {
		at := w.Node("Cast", attr("to", 7), w.Node("Round", nil, in[1].Name))
		return w.Node("Gather", attr("axis", 0), in[0].Name, at)
	}
	if !r.stacked {
		return w.Failf("rows that are added to one table")
	}
	at := in[1]
	examples, places, width := at.Shape[0], w.product(at.Shape[1:]), out[len(out)-1]
	per := w.per(in[0].Shape[0], examples)
	table := w.oneHot(w.Reshape(at, examples, Extent{Fixed: 1}, places, Extent{Fixed: 1}), r.rows)
	rows := places
	if !r.scatter {
		rows = Extent{Fixed: r.rows}
	}
	y := w.matMul(table, w.Reshape(in[0], examples, per, rows, width), r.scatter, false)
	return w.Reshape(y, out...).Name
}

// oneHot returns [...,rows] with a 1 at the places x [...,1], which may count from the end.
func (w *ONNX) oneHot(x ONNXValue, rows int) ONNXValue {
	numbers := make([]float64, rows)
	for i := range numbers {
		numbers[i] = float64(i)
	}
	to := append(append([]Extent{}, x.Shape[:len(x.Shape)-1]...), Extent{Fixed: rows})
	return ONNXValue{w.same(w.fromStart(x, rows), ONNXValue{w.Array(numbers, rows), extents(rows)}), to}
}
