package onnx

import (
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/raw"
)

func init() {
	add(map[string]operator{
		"Identity":        func(c *call) []value { return []value{c.value(0)} },
		"Dropout":         dropout,
		"Constant":        constant,
		"ConstantOfShape": constantOfShape,
		"Shape":           shapeOf,
		"Size": func(c *call) []value {
			return hosts(&host{shape: []int{}, v: []float64{float64(product(c.value(0).shape()))}, whole: true})
		},
		"Cast":         cast,
		"CastLike":     func(c *call) []value { return c.cast(c.among(1, 2)) },
		"Range":        rangeOf,
		"Reshape":      reshape,
		"Flatten":      flatten,
		"Squeeze":      squeeze,
		"Unsqueeze":    unsqueeze,
		"Transpose":    transpose,
		"Expand":       expand,
		"Tile":         tile,
		"Concat":       concat,
		"Split":        split,
		"Slice":        slice,
		"Gather":       gather,
		"Trilu":        trilu,
		"DepthToSpace": depthToSpace,
		"SpaceToDepth": spaceToDepth,
	})
}

// dropout leaves out nothing: in training, which only an input tells, it would draw random numbers.
func dropout(c *call) []value {
	if c.has(2) && c.number(2, "training_mode") != 0 {
		c.failf("training_mode = 1 is not supported, only 0")
	}
	return []value{c.value(0)}
}

func constant(c *call) []value {
	for name, a := range c.Attributes {
		switch name {
		case "value":
			if a.Tensor != nil {
				return hosts(c.try(a.Tensor.host()))
			}
		case "value_float":
			return hosts(&host{shape: []int{}, v: []float64{a.Float}})
		case "value_floats":
			return hosts(&host{shape: []int{len(a.Floats)}, v: a.Floats})
		case "value_int":
			return hosts(&host{shape: []int{}, v: []float64{float64(a.Int)}, whole: true})
		case "value_ints":
			return hosts(&host{shape: []int{len(a.Ints)}, v: widened(a.Ints), whole: true})
		}
	}
	c.failf("no value of floating-point numbers or integers")
	return nil
}

func constantOfShape(c *call) []value {
	fill := &host{shape: []int{1}, v: []float64{0}}
	if a := c.Attributes["value"]; a.Tensor != nil {
		fill = c.try(a.Tensor.host())
	}
	x, ok := fill.scalar()
	shape := c.host(0).ints()
	n, err := raw.Count(shape, maxHost)
	if err != nil || !ok {
		c.failf("shape %v filled with %v, expected fewer than %d elements and one number", shape, fill.shape, maxHost)
	}
	return hosts(&host{shape: shape, v: slices.Repeat([]float64{x}, n), whole: fill.whole})
}

func shapeOf(c *call) []value {
	shape := c.value(0).shape()
	clamp := func(i int) int {
		if i < 0 {
			i += len(shape)
		}
		return min(max(i, 0), len(shape))
	}
	from, to := clamp(c.int("start", 0)), clamp(c.int("end", len(shape)))
	return hosts(integers(shape[from:max(from, to)]))
}

// cast is the operator Cast, which rounds constants to float32.
func cast(c *call) []value {
	out := c.cast(c.target())
	if h := out[0].host; h != nil && types[int64(c.int("to", 1))] == raw.F32 {
		out[0].host = h.each(func(x float64) float64 { return float64(float32(x)) })
	}
	return out
}

// cast converts elements to a kind. A graph holds integers and truths as floating-point numbers.
func (c *call) cast(to kind) []value {
	v := c.value(0)
	switch {
	case v.host != nil:
		plain := map[kind]func(float64) float64{
			numeric: func(x float64) float64 { return x }, integral: math.Trunc, logical: func(x float64) float64 { return truth(x != 0) },
		}
		h := v.host.each(plain[to])
		h.whole = to != numeric
		return hosts(h)
	case to == integral:
		return nodes(c.made(truncate(c.b, v.node)))
	case to == logical:
		return nodes(c.made(c.b.Step(c.b.Abs(v.node))))
	}
	return []value{v}
}

func rangeOf(c *call) []value {
	from, to, step := c.number(0, "a start"), c.number(1, "an end"), c.number(2, "a step")
	n := math.Ceil((to - from) / step)
	if !(n <= maxHost) {
		c.failf("a range from %g to %g by %g", from, to, step)
	}
	h := &host{v: []float64{}, whole: c.host(0).whole}
	for i := 0.0; i < n; i++ {
		h.v = append(h.v, from+i*step)
	}
	h.shape = []int{len(h.v)}
	return hosts(h)
}

// reshaped gives a value another shape.
func (c *call) reshaped(v value, shape []int) []value {
	if n, err := raw.Count(shape, math.MaxInt32); err != nil || n != product(v.shape()) {
		c.failf("shape %v cannot become %v", v.shape(), shape)
	}
	if v.host != nil {
		return hosts(v.host.reshaped(shape))
	}
	if slices.Equal(v.node.Shape(), shape) {
		return []value{v}
	}
	return []value{c.reshapedNode(v, shape)}
}

func reshape(c *call) []value {
	v, shape := c.value(0), slices.Clone(c.host(1).ints())
	own := v.shape()
	if c.fixed > 0 && len(shape) > 0 && shape[0] == c.fixed && c.rows(v) {
		shape[0] = c.batch // the exporter has written its own number of examples
	}
	open, rest := -1, 1
	for d, n := range shape {
		if n == 0 && c.int("allowzero", 0) == 0 && d < len(own) {
			shape[d] = own[d]
		}
		if n == -1 && open < 0 {
			open = d
		} else {
			rest *= shape[d]
		}
	}
	if open >= 0 && rest > 0 {
		shape[open] = product(own) / rest
	}
	return c.reshaped(v, shape)
}

func flatten(c *call) []value {
	v := c.value(0)
	own := v.shape()
	at := c.int("axis", 1)
	if at != len(own) {
		at = c.axis(at, len(own))
	}
	return c.reshaped(v, []int{product(own[:at]), product(own[at:])})
}

func squeeze(c *call) []value {
	v := c.value(0)
	own := v.shape()
	list := c.list("axes", 1)
	axes := c.squeezed()
	if len(list) > 0 {
		axes = c.axes(list, len(own))
	}
	return c.reshaped(v, without(own, axes, false))
}

// squeezed returns the axes of one place.
func (c *call) squeezed() (axes []int) {
	for d, n := range c.value(0).shape() {
		if n == 1 {
			axes = append(axes, d)
		}
	}
	return axes
}

func unsqueeze(c *call) []value {
	v, list := c.value(0), c.list("axes", 1)
	own := v.shape()
	n := len(own) + len(list)
	axes := c.axes(list, n)
	if len(axes) != len(list) || len(list) == 0 {
		c.failf("new axes %v", list)
	}
	out := make([]int, 0, n)
	for d := range n {
		if slices.Contains(axes, d) {
			out = append(out, 1)
		} else {
			out, own = append(out, own[0]), own[1:]
		}
	}
	return c.reshaped(v, out)
}

func transpose(c *call) []value {
	v := c.value(0)
	n := len(v.shape())
	perm := c.ints("perm")
	if perm == nil {
		for d := range n {
			perm = append(perm, n-1-d)
		}
	}
	if !slices.Equal(slices.Sorted(slices.Values(perm)), c.axes(nil, n)) {
		c.failf("perm %v of %d axes", perm, n)
	}
	return c.transposed(v, perm)
}

func (c *call) transposed(v value, perm []int) []value {
	if v.host != nil {
		return hosts(c.try(v.host.transposed(perm)))
	}
	return []value{c.transposedNode(v, perm)}
}

// expanded broadcasts a value to a shape, which must be larger.
func (c *call) expanded(v value, shape []int) value {
	to, err := broadcast(v.shape(), shape)
	to = must(c, to, err)
	if v.host != nil {
		return value{host: c.try(v.host.expanded(to))}
	}
	if slices.Equal(v.node.Shape(), to) {
		return v
	}
	y := value{node: c.made(c.b.BroadcastTo(v.node, to...))}
	if len(v.shape()) == len(to) && v.shape()[0] == 1 && to[0] == c.batch {
		y.single = v.node
	}
	return y
}

func expand(c *call) []value {
	v, shape := c.value(0), slices.Clone(c.host(1).ints())
	for d, n := range shape {
		if own := v.shape(); n == -1 && d+len(own) >= len(shape) { // as PyTorch's expand
			shape[d] = own[d+len(own)-len(shape)]
		}
	}
	return []value{c.expanded(v, shape)}
}

func tile(c *call) []value {
	v, repeats := c.value(0), c.host(1).ints()
	if len(repeats) != len(v.shape()) {
		c.failf("repeats %v of shape %v, expected one for each axis", repeats, v.shape())
	}
	for d, n := range repeats {
		own := v.shape()
		if n < 1 || n > maxHost {
			c.failf("repeats %v of shape %v", repeats, own)
		}
		if n > 1 { // along an axis of its own, which is joined to the other
			shape := slices.Clone(own)
			shape[d] *= n
			v = c.reshaped(v, slices.Insert(slices.Clone(own), d, 1))[0]
			v = c.reshaped(c.expanded(v, slices.Insert(slices.Clone(own), d, n)), shape)[0]
		}
	}
	return []value{v}
}

func concat(c *call) []value {
	parts := []value{}
	for i := range c.in {
		parts = append(parts, c.value(i))
	}
	if len(parts) == 0 {
		c.failf("nothing to join")
	}
	return []value{c.joined(parts, c.axis(c.int("axis", 0), len(parts[0].shape())))}
}

// joined joins values along an axis.
func (c *call) joined(parts []value, axis int) value {
	for _, p := range parts {
		if p.node != nil {
			var all []*graph.Node
			for _, p := range parts {
				if product(p.shape()) > 0 {
					all = append(all, c.beside(c.asNode(p), p, parts))
				}
			}
			return value{node: c.made(c.b.Concat(axis, all...))}
		}
	}
	return value{host: c.joinedHosts(parts, axis)}
}

// beside returns a part n that is the same for all examples as one that is computed for each example, if another part
// is: Jacobians by rows need this. The part is added to zeros of the other one.
func (c *call) beside(n *graph.Node, p value, parts []value) *graph.Node {
	for _, q := range parts {
		if p.single == nil || q.single != nil || q.node == nil || q.node.Shape()[0] != c.batch {
			continue
		}
		zeros := q.node
		for d := 1; d < zeros.Dims(); d++ {
			zeros = c.made(c.b.Slice(zeros, d, 0, 1))
		}
		n = c.made(c.b.Add(p.single, c.b.Scale(zeros, 0)))
		if !slices.Equal(n.Shape(), p.shape()) {
			n = c.made(c.b.BroadcastTo(n, p.shape()...))
		}
		break
	}
	return n
}

func (c *call) joinedHosts(parts []value, axis int) *host {
	first := parts[0].host
	out := &host{shape: slices.Clone(first.shape), whole: first.whole}
	for _, p := range parts[1:] {
		if s := p.host.shape; len(s) != len(first.shape) || !slices.Equal(s[:axis], first.shape[:axis]) || !slices.Equal(s[axis+1:], first.shape[axis+1:]) {
			c.failf("shapes %v and %v along axis %d", first.shape, s, axis)
		}
		out.shape[axis] += p.host.shape[axis]
	}
	if _, err := raw.Count(out.shape, maxHost); err != nil {
		c.failf("%w", err)
	}
	for o := range product(first.shape[:axis]) {
		for _, p := range parts {
			width := product(p.host.shape[axis:])
			out.v = append(out.v, p.host.v[o*width:(o+1)*width]...)
		}
	}
	return out
}

func split(c *call) []value {
	v := c.value(0)
	axis := c.axis(c.int("axis", 0), len(v.shape()))
	n, sizes := v.shape()[axis], c.list("split", 1)
	if sizes == nil {
		parts := c.int("num_outputs", len(c.Outputs))
		if parts < 1 || parts > n || parts > len(c.Outputs) {
			c.failf("%d parts of an axis of %d for %d outputs", parts, n, len(c.Outputs))
		}
		each := (n + parts - 1) / parts
		for left := n; left > 0; left -= each {
			sizes = append(sizes, min(each, left))
		}
	}
	var out []value
	from := 0
	for _, s := range sizes {
		if s < 1 || from+s > n {
			c.failf("parts %v of an axis of %d", sizes, n)
		}
		out = append(out, c.part(v, axis, from, s, 1))
		from += s
	}
	if from != n {
		c.failf("parts %v of an axis of %d", sizes, n)
	}
	return out
}

// part takes count elements along an axis, step apart.
func (c *call) part(v value, axis, from, count, step int) value {
	if v.node != nil && step == 1 {
		if count == v.node.Shape()[axis] {
			return v
		}
		return c.alongAxis(v, axis, func(n *graph.Node, axis int) *graph.Node { return c.made(c.b.Slice(n, axis, from, from+count)) })
	}
	if count > maxHost {
		c.failf("%d elements by steps of %d, expected at most %d", count, step, maxHost)
	}
	at := make([]int, count)
	for i := range at {
		at[i] = from + i*step
	}
	return c.taken(v, axis, at)
}

// taken takes the elements at places along an axis.
func (c *call) taken(v value, axis int, at []int) value {
	for _, k := range at {
		if k < 0 || k >= v.shape()[axis] {
			c.failf("place %d along axis %d of shape %v", k, axis, v.shape())
		}
	}
	if v.host != nil {
		return value{host: c.try(v.host.gathered(axis, at))}
	}
	return c.alongAxis(v, axis, func(n *graph.Node, axis int) *graph.Node { return c.made(c.b.Gather(n, axis, at...)) })
}

func slice(c *call) []value {
	v, starts, ends := c.value(0), c.host(1).ints(), c.host(2).ints()
	axes, steps := c.optional(3, c.axes(nil, len(starts))), c.optional(4, slices.Repeat([]int{1}, len(starts)))
	if len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts) {
		c.failf("starts %v, ends %v, axes %v, steps %v", starts, ends, axes, steps)
	}
	for i, a := range axes {
		axis := c.axis(a, len(v.shape()))
		from, count := c.places(starts[i], ends[i], steps[i], v.shape()[axis])
		v = c.part(v, axis, from, count, steps[i])
	}
	return []value{v}
}

// places returns the first of the elements from start to end, and their number.
func (c *call) places(start, end, step, n int) (from, count int) {
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	clamp := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	if step == 0 {
		c.failf("a step of 0")
	}
	from, end = clamp(start), clamp(end)
	if step > 0 {
		count = (end - from + step - 1) / step
	} else {
		count = (from - end - step - 1) / -step
	}
	return from, max(count, 0)
}

// gather takes elements at constant places, or the rows of a table at the places that the
// input gives.
func gather(c *call) []value {
	v := c.value(0)
	axis := c.axis(c.int("axis", 0), len(v.shape()))
	if at := c.value(1); at.host == nil {
		if axis != 0 || v.node == nil {
			c.failf("places that depend on the input along axis %d, expected the rows of a table", axis)
		}
		if at.rows != nil {
			return []value{c.byRows(c.made(c.b.Embed(v.node, at.rows)), slices.Concat(at.shape(), v.shape()[1:]), at.before)}
		}
		return nodes(c.made(c.b.Embed(v.node, at.node)))
	}
	index := c.host(1)
	at := slices.Clone(index.ints())
	for i, k := range at {
		if k < 0 {
			at[i] += v.shape()[axis]
		}
	}
	own := v.shape()
	shape := slices.Concat(own[:axis], index.shape, own[axis+1:])
	if len(at) == 1 {
		if at[0] < 0 || at[0] >= own[axis] {
			c.failf("place %d along axis %d of shape %v", at[0], axis, own)
		}
		return c.reshaped(c.part(v, axis, at[0], 1, 1), shape)
	}
	return c.reshaped(c.taken(v, axis, at), shape)
}

// trilu keeps a triangle of matrices.
func trilu(c *call) []value {
	v := c.value(0)
	shape := v.shape()
	if len(shape) < 2 {
		c.failf("shape %v, expected matrices", shape)
	}
	k := 0.0
	if c.has(1) {
		k = c.number(1, "a diagonal")
	}
	upper := c.int("upper", 1)
	mask := c.table(shape[len(shape)-2:], func(i, j int) float64 {
		return truth(upper == 1 && float64(j-i) >= k || upper == 0 && float64(j-i) <= k)
	})
	if v.host != nil {
		return hosts(c.zip(v.host, mask, v.host.whole, func(x, keep float64) float64 {
			if keep == 0 {
				return 0
			}
			return x
		}))
	}
	return nodes(c.made(c.b.Keep(v.node, c.asNode(value{host: mask}))))
}

func depthToSpace(c *call) []value {
	x, k := c.node(0), c.int("blocksize", 1)
	s := x.Shape()
	if len(s) != 4 || k < 1 || k > s[1] || s[1]%(k*k) != 0 {
		c.failf("shape %v in blocks of %d", s, k)
	}
	split, perm := []int{s[0], k, k, s[1] / (k * k), s[2], s[3]}, []int{0, 3, 4, 1, 5, 2}
	switch mode := c.text("mode", "DCR"); mode {
	case "DCR":
	case "CRD":
		split, perm = []int{s[0], s[1] / (k * k), k, k, s[2], s[3]}, []int{0, 1, 4, 2, 5, 3}
	default:
		c.failf("mode %q, expected DCR or CRD", mode)
	}
	return nodes(c.made(c.b.Reshape(c.b.Transpose(c.b.Reshape(x, split...), perm...), s[0], s[1]/(k*k), s[2]*k, s[3]*k)))
}

func spaceToDepth(c *call) []value {
	x, k := c.node(0), c.int("blocksize", 1)
	s := x.Shape()
	if len(s) != 4 || k < 1 || s[2]%k != 0 || s[3]%k != 0 {
		c.failf("shape %v in blocks of %d", s, k)
	}
	y := c.b.Transpose(c.b.Reshape(x, s[0], s[1], s[2]/k, k, s[3]/k, k), 0, 3, 5, 1, 2, 4)
	return nodes(c.made(c.b.Reshape(y, s[0], s[1]*k*k, s[2]/k, s[3]/k)))
}
