package onnx

import (
	"slices"

	"github.com/go-valla/valla/graph"
)

func init() {
	add(map[string]operator{
		"OneHot":          oneHot,
		"CumSum":          cumSum,
		"GatherElements":  gatherElements,
		"GatherND":        gatherND,
		"ScatterND":       scatterND,
		"ScatterElements": scatterElements,
		"TopK":            topK,
		"ArgMax":          argMax,
		"ArgMin":          argMax,
		"Hardmax":         hardmax,
	})
}

// counting is the constant 0, 1, …, n−1 along an axis of several.
func counting(axes, axis, n int) *host {
	h := integers(make([]int, n))
	for i := range h.v {
		h.v[i] = float64(i)
	}
	return h.reshaped(along(axes, axis, n))
}

// indicator returns 1 where places [..., K] on the last axis, of which each becomes an axis of n elements, are the
// place of the element, and 0 elsewhere: [..., K, n]. Places from the end are below 0.
func (c *call) indicator(places value, n int) value {
	s := places.shape()
	shape := append(slices.Clone(s), 1)
	if places.host != nil {
		at := places.host.each(func(k float64) float64 {
			if k < 0 {
				k += float64(n)
			}
			return k
		}).reshaped(shape)
		return value{host: c.zip(at, counting(len(shape), len(s), n), true, func(k, i float64) float64 { return truth(k == i) })}
	}
	at := c.b.Reshape(places.node, shape...)
	at = c.b.Add(at, c.b.Scale(c.b.Step(c.b.Neg(at)), float64(n)))
	off := c.b.Abs(c.b.Sub(at, c.asNode(value{host: counting(len(shape), len(s), n)})))
	return value{node: c.made(not(c.b, c.b.Step(off)))}
}

// oneHot makes an axis of each place.
func oneHot(c *call) []value {
	n, levels := int(c.number(1, "a depth")), c.host(2)
	if n < 1 || n > maxHost || len(levels.v) != 2 {
		c.failf("depth %d and values %v, expected at least one place and two values", n, levels.v)
	}
	off, on := levels.v[0], levels.v[1]
	y, dims := c.indicator(c.value(0), n), len(c.value(0).shape())+1
	axis := c.axis(c.int("axis", -1), dims)
	perm := slices.Insert(c.axes(nil, dims)[:dims-1:dims-1], axis, dims-1)
	if y.host != nil {
		y.host = y.host.each(func(k float64) float64 {
			if k == 0 {
				return off
			}
			return on
		})
		y.host.whole = levels.whole
	} else {
		single := func(x float64) *graph.Node { return c.asNode(value{host: &host{shape: []int{1}, v: []float64{x}}}) }
		y.node = c.made(c.b.Where(y.node, single(on), single(off)))
	}
	return c.transposed(y, perm)
}

// lastAxis moves an axis to the end. back undoes this.
func (c *call) lastAxis(v value, axis int) (moved value, back func(v value) []value) {
	n := len(v.shape())
	perm := append(slices.Delete(c.axes(nil, n), axis, axis+1), axis)
	undo := slices.Insert(c.axes(nil, n-1), axis, n-1)
	return c.transposed(v, perm)[0], func(v value) []value { return c.transposed(v, undo) }
}

// cumSum is a product with a triangle of ones.
func cumSum(c *call) []value {
	v := c.value(0)
	x, back := c.lastAxis(value{node: c.asNode(v)}, c.axis(int(c.number(1, "an axis")), len(v.shape())))
	n := x.shape()[len(x.shape())-1]
	exclusive, reverse := c.int("exclusive", 0), c.int("reverse", 0) != 0
	triangle := c.asNode(value{host: c.table([]int{n, n}, func(from, to int) float64 {
		if reverse {
			from, to = to, from
		}
		return truth(from <= to-exclusive)
	})})
	return back(value{node: c.matrixProduct(x.node, triangle)})
}

// matrixProduct multiplies the last axis of x by a matrix.
func (c *call) matrixProduct(x, m *graph.Node) *graph.Node {
	s := x.Shape().Clone()
	if len(s) == 1 {
		x = c.b.Reshape(x, 1, s[0])
	}
	s[len(s)-1] = m.Shape()[1]
	return c.made(c.b.Reshape(c.b.MatMul(x, m, false, false), s...))
}

// gatherElements takes elements along an axis, at places that each row may have for itself.
func gatherElements(c *call) []value {
	v, at := c.value(0), c.value(1)
	axis := c.axis(c.int("axis", 0), len(v.shape()))
	s := at.shape()
	if len(s) != len(v.shape()) || axis == 0 {
		c.failf("places of shape %v for shape %v along axis %d, expected as many axes and an axis of an example", s, v.shape(), axis)
	}
	c.ofAll(v, s[0])
	for d, n := range s {
		if d != axis && n != v.shape()[d] {
			v = c.part(v, d, 0, min(n, v.shape()[d]), 1)
		}
	}
	x, _ := c.lastAxis(value{node: c.asNode(v)}, axis)
	places, back := c.lastAxis(at, axis)
	return back(value{node: c.selected(x.node, places)})
}

// ofAll ends the operator where places are in n examples, those of the file, and v has another number of examples.
func (c *call) ofAll(v value, n int) {
	if n == c.fixed && c.batch != c.fixed && c.rows(v) {
		c.failf("places for the number of examples in the file (%d), but there are %d; export with a free number", n, c.batch)
	}
}

// selected takes elements of the last axis of x [..., n] at places [..., K].
func (c *call) selected(x *graph.Node, places value) *graph.Node {
	s := x.Shape().Clone()
	n := s[len(s)-1]
	ones := c.asNode(c.indicator(places, n))
	return c.picked(c.b.Reshape(x, slices.Insert(s, len(s)-1, 1)...), ones)
}

// picked sums the elements of the last axis of x where ones is 1.
func (c *call) picked(x, ones *graph.Node) *graph.Node {
	p := c.made(c.b.Keep(x, ones))
	s := p.Shape().Clone()
	to := s.Clone()
	to[len(to)-1] = 1
	return c.made(c.b.Reshape(c.b.SumTo(p, to...), s[:len(s)-1]...))
}

// gatherND takes elements at constant places, as Gather does, or, with one batch axis, rows at a place of each example.
func gatherND(c *call) []value {
	v, at := c.value(0), c.value(1)
	s, n := at.shape(), len(v.shape())
	if len(s) == 0 {
		c.failf("places of shape %v, expected a list", s)
	}
	depth := s[len(s)-1]
	if c.int("batch_dims", 0) == 1 && depth == 1 && n >= 2 {
		x, _ := c.lastAxis(value{node: c.asNode(v)}, 1) // [B, ..., T]
		k := product(s[1:])
		flat := c.b.Reshape(x.node, v.shape()[0], 1, product(v.shape()[2:]), v.shape()[1])
		ones := c.b.Reshape(c.asNode(c.indicator(c.reshaped(at, []int{s[0], k})[0], v.shape()[1])), s[0], k, 1, v.shape()[1])
		return c.reshaped(value{node: c.picked(flat, ones)}, slices.Concat(s[:len(s)-1], v.shape()[2:]))
	}
	if at.host == nil || c.int("batch_dims", 0) != 0 || depth > n {
		c.failf("places of shape %v for shape %v, expected constants, or one place for each example", s, v.shape())
	}
	places := flatPlaces(c, at.host, v.shape()[:depth])
	y := c.taken(c.reshaped(v, append([]int{product(v.shape()[:depth])}, v.shape()[depth:]...))[0], 0, places)
	return c.reshaped(y, slices.Concat(s[:len(s)-1], v.shape()[depth:]))
}

// flatPlaces numbers places [..., D] in an array of D axes by one number each.
func flatPlaces(c *call, at *host, shape []int) []int {
	list, d := at.ints(), len(shape)
	out := make([]int, len(list)/max(d, 1))
	for i := range out {
		for k, n := range shape {
			p := list[i*d+k]
			if p < 0 {
				p += n
			}
			if p < 0 || p >= n {
				c.failf("place %v in shape %v", list[i*d:(i+1)*d], shape)
			}
			out[i] = out[i]*n + p
		}
	}
	return out
}

// scatterND replaces elements at constant places.
func scatterND(c *call) []value {
	v, at, updates := c.value(0), c.host(1), c.value(2)
	shape, s := v.shape(), at.shape
	if len(s) == 0 || s[len(s)-1] > len(shape) {
		c.failf("places of shape %v for shape %v", s, shape)
	}
	depth := s[len(s)-1]
	width := product(shape[depth:])
	var to []int // the places of all elements of the updates
	for _, p := range flatPlaces(c, at, shape[:depth]) {
		for k := range width {
			to = append(to, p*width+k)
		}
	}
	return c.scattered(v, updates, to)
}

// scatterElements replaces elements along an axis at constant places.
func scatterElements(c *call) []value {
	v, at, updates := c.value(0), c.host(1), c.value(2)
	shape := v.shape()
	axis := c.axis(c.int("axis", 0), len(shape))
	if len(at.shape) != len(shape) {
		c.failf("places of shape %v for shape %v", at.shape, shape)
	}
	steps, own := strides(shape, len(shape)), at.ints()
	to := make([]int, len(own))
	for i := range to {
		rest := i
		for d := len(shape) - 1; d >= 0; d-- {
			k := rest % at.shape[d]
			rest /= at.shape[d]
			if d == axis {
				if k = own[i]; k < 0 {
					k += shape[d]
				}
			}
			if k < 0 || k >= shape[d] {
				c.failf("place %d along axis %d of shape %v", k, d, shape)
			}
			to[i] += k * steps[d]
		}
	}
	return c.scattered(v, updates, to)
}

// scattered replaces the elements to of v, counted through all axes, by those of the updates.
func (c *call) scattered(v, updates value, to []int) []value {
	if how := c.text("reduction", "none"); how != "none" && how != "add" {
		c.failf("reduction %q is not supported, only none and add", how)
	}
	shape := v.shape()
	total, n := product(shape), product(updates.shape())
	if len(shape) > 0 && total > 0 && len(to) > 0 {
		c.ofAll(v, slices.Max(to)/(total/shape[0])+1)
	}
	if total > maxHost || len(to) != n {
		c.failf("%d places for updates of shape %v in shape %v", len(to), updates.shape(), shape)
	}
	rows := 1
	if len(shape) > 0 && total > 0 && eachRow(to, shape[0], total) {
		rows = shape[0]
	}
	width, count := total/rows, n/rows
	from, keep := make([]int, width), &host{shape: []int{1, width}, v: slices.Repeat([]float64{1}, width), whole: true}
	for i := range from {
		from[i] = count // a zero
	}
	for i, p := range to[:count] {
		if p%width != p || from[p] != count && c.text("reduction", "none") == "add" {
			c.failf("one place twice in a sum is not supported")
		}
		from[p], keep.v[p] = i, truth(c.text("reduction", "none") == "add")
	}
	flat := c.b.Pad(c.b.Reshape(c.asNode(updates), rows, count), 1, 0, count+1)
	x := c.b.Reshape(c.asNode(v), rows, width)
	y := c.b.Add(c.b.Keep(x, c.asNode(value{host: keep})), c.b.Gather(flat, 1, from...))
	return nodes(c.made(c.b.Reshape(y, shape...)))
}

// eachRow reports whether the places are the same in each of n rows of an array, row after row.
func eachRow(to []int, n, total int) bool {
	if len(to)%n != 0 {
		return false
	}
	count, width := len(to)/n, total/n
	for i, p := range to {
		if p != i/count*width+to[i%count] {
			return false
		}
	}
	return true
}

// ranked returns the places of the k largest or smallest elements of the last axis.
func (c *call) ranked(x *graph.Node, k int, smallest bool) *graph.Node {
	if smallest {
		x = c.b.Neg(x)
	}
	return c.made(c.b.Largest(x, k))
}

// topK returns the k largest or smallest elements of an axis, sorted, and their places.
func topK(c *call) []value {
	v, k := c.value(0), int(c.number(1, "a number of elements"))
	axis := c.axis(c.int("axis", -1), len(v.shape()))
	x, back := c.lastAxis(value{node: c.asNode(v)}, axis)
	places := c.ranked(x.node, k, c.int("largest", 1) == 0)
	return append(back(value{node: c.selected(x.node, value{node: places})}), back(value{node: places})...)
}

func argMax(c *call) []value {
	v := c.value(0)
	axis := c.axis(c.int("axis", 0), len(v.shape()))
	c.only("select_last_index", 0)
	x, back := c.lastAxis(value{node: c.asNode(v)}, axis)
	y := back(value{node: c.ranked(x.node, 1, c.Op == "ArgMin")})[0]
	return c.reshaped(y, without(y.shape(), []int{axis}, c.int("keepdims", 1) == 1))
}

// hardmax is 1 for the largest element of an axis or, up to opset 12, of all from one axis on, and 0 for the others.
func hardmax(c *call) []value {
	v, standard := c.value(0), -1
	shape := v.shape()
	if c.opset < 13 {
		standard = 1
	}
	axis := c.axis(c.int("axis", standard), len(shape))
	if c.opset < 13 {
		v = c.reshaped(v, append(slices.Clone(shape[:axis]), product(shape[axis:])))[0]
	}
	x, back := c.lastAxis(value{node: c.asNode(v)}, axis)
	ones := c.indicator(value{node: c.ranked(x.node, 1, false)}, x.shape()[len(x.shape())-1])
	return c.reshaped(back(c.reshaped(ones, x.shape())[0])[0], shape)
}
