package onnx

import (
	"math"
	"slices"
)

func init() {
	add(map[string]operator{"Pad": pad, "Resize": resize})
}

// pad surrounds an array by a number, or by its own elements.
func pad(c *call) []value {
	v, pads := c.value(0), c.list("pads", 1)
	n := len(v.shape())
	axes := c.inOrder(c.optional(3, nil), n)
	if len(pads) != 2*len(axes) {
		c.failf("pads %v for the axes %v", pads, axes)
	}
	with := 0.0
	if c.has(2) {
		with, _ = c.host(2).scalar()
	}
	for i, axis := range axes {
		if before, after := pads[i], pads[len(axes)+i]; before != 0 || after != 0 {
			v = c.padAxis(v, axis, before, after, with)
		}
	}
	return []value{v}
}

// padAxis pads along one axis. Negative numbers take elements away.
func (c *call) padAxis(v value, axis, before, after int, with float64) value {
	n := v.shape()[axis]
	if before+n+after < 1 || before+n+after > maxHost {
		c.failf("pads %d and %d of an axis of %d", before, after, n)
	}
	inside := make([]int, before+n+after) // the place of each element in v
	for i := range inside {
		inside[i] = i - before
	}
	outside := func(k int) bool { return k < 0 || k >= n }
	switch mode := c.text("mode", "constant"); mode {
	case "edge":
		for i, k := range inside {
			inside[i] = min(max(k, 0), n-1)
		}
	case "reflect":
		for i, k := range inside {
			if k < 0 {
				k = -k
			}
			inside[i] = k
			if k >= n {
				inside[i] = 2*(n-1) - k
			}
		}
	case "wrap":
		for i, k := range inside {
			inside[i] = (k%n + n) % n
		}
	case "constant":
		if slices.ContainsFunc(inside, outside) {
			return c.padConstant(v, axis, inside, with)
		}
	default:
		c.failf("mode %q", mode)
	}
	return c.taken(v, axis, inside)
}

// padConstant returns len(inside) elements along an axis: element inside[i] of v at place i, or the
// number with where inside[i] is no place of v.
func (c *call) padConstant(v value, axis int, inside []int, with float64) value {
	n := v.shape()[axis]
	from, count := 0, 0
	mask := &host{shape: along(len(v.shape()), axis, len(inside))}
	for i, k := range inside {
		if k < 0 || k >= n {
			mask.v = append(mask.v, with)
			continue
		}
		if count == 0 {
			from = i
		}
		count++
		mask.v = append(mask.v, 0) // not with·0, which is no number for an infinite one
	}
	if v.host != nil {
		c.failf("a constant is padded")
	}
	x := c.part(v, axis, inside[from], count, 1).node
	y := c.made(c.b.Pad(x, axis, from, len(inside)))
	if with == 0 {
		return value{node: y}
	}
	return value{node: c.made(c.b.Add(y, c.asNode(value{host: mask})))}
}

// resize changes the number of places along axes. A new place has the value of the nearest old place,
// or is interpolated linearly between two neighbours.
func resize(c *call) []value {
	v := c.value(0)
	own := v.shape()
	axes := c.inOrder(c.ints("axes"), len(own))
	c.only("antialias", 0)
	if policy := c.text("keep_aspect_ratio_policy", "stretch"); policy != "stretch" {
		c.failf("keep_aspect_ratio_policy %q is not supported, only stretch", policy)
	}
	scales, sizes := c.newSizes(len(axes))
	examples := c.rows(v)
	for i, axis := range axes {
		n := own[axis]
		var to int
		var scale float64
		if scales != nil {
			to, scale = int(float32(n)*float32(scales[i])), scales[i] // as exporters and runtimes round it
		} else {
			to, scale = sizes[i], float64(sizes[i])/float64(n)
		}
		switch {
		case axis == 0 && examples: // the number of examples stays, where sizes hold that of the exporter too
			if scales != nil && scale != 1 {
				c.failf("the scale %g along the axis of the examples, expected 1", scale)
			}
		case to < 1 || to > maxHost:
			c.failf("%d places along axis %d", to, axis)
		case scale != 1:
			v = c.resizeAxis(v, axis, to, scale)
		}
	}
	return []value{v}
}

// newSizes returns a scale for each of n axes or, if there is none, a number of places.
func (c *call) newSizes(n int) (scales []float64, sizes []int) {
	if c.has(2) && len(c.host(2).v) > 0 {
		scales = c.host(2).v
	} else {
		sizes = c.optional(3, nil)
	}
	if len(scales) != n && len(sizes) != n {
		c.failf("scales %v and sizes %v, expected one for each of %d axes", scales, sizes, n)
	}
	return scales, sizes
}

// source returns the coordinate among n places that corresponds to place i of to places. The nearest place depends on its last digit.
func source[T float32 | float64](c *call, i, n, to int, scale T) T {
	x, mode := T(i), c.text("coordinate_transformation_mode", "half_pixel")
	switch {
	case to == 1 && (mode == "pytorch_half_pixel" || mode == "align_corners"):
		return 0
	case mode == "half_pixel" || mode == "pytorch_half_pixel":
		return (x+0.5)/scale - 0.5
	case mode == "asymmetric":
		return x / scale
	case mode == "align_corners":
		return x * T(n-1) / T(to-1)
	}
	c.failf("coordinate_transformation_mode %q", mode)
	return 0
}

func (c *call) resizeAxis(v value, axis, to int, scale float64) value {
	n := v.shape()[axis]
	low, high := make([]int, to), make([]int, to)
	weight := &host{shape: along(len(v.shape()), axis, to), v: make([]float64, to)}
	mode := c.text("mode", "nearest")
	for i := range to {
		switch mode {
		case "nearest":
			x := source(c, i, n, to, float32(scale)) // as runtimes compute it
			low[i] = min(max(c.nearest(float64(x)), 0), n-1)
		case "linear":
			x := min(max(source(c, i, n, to, scale), 0), float64(n-1))
			low[i] = int(x)
			high[i], weight.v[i] = min(low[i]+1, n-1), x-math.Floor(x)
		default:
			c.failf("mode %q, expected nearest or linear", mode)
		}
	}
	if mode == "nearest" {
		return c.taken(v, axis, low)
	}
	rest := weight.each(func(x float64) float64 { return 1 - x })
	a, b := c.asNode(c.taken(v, axis, low)), c.asNode(c.taken(v, axis, high))
	return value{node: c.made(c.b.Add(c.b.Mul(a, c.asNode(value{host: rest})), c.b.Mul(b, c.asNode(value{host: weight}))))}
}

// nearestModes are the ways to round a coordinate to a place.
var nearestModes = map[string]func(x float64) float64{
	"round_prefer_floor": func(x float64) float64 { return math.Ceil(x - 0.5) },
	"round_prefer_ceil":  func(x float64) float64 { return math.Floor(x + 0.5) },
	"floor":              math.Floor,
	"ceil":               math.Ceil,
}

func (c *call) nearest(x float64) int {
	mode := c.text("nearest_mode", "round_prefer_floor")
	if nearestModes[mode] == nil {
		c.failf("nearest_mode %q", mode)
	}
	return int(nearestModes[mode](x))
}
