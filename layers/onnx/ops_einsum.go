package onnx

import (
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
)

func init() { add(map[string]operator{"Einsum": einsum}) }

// einsum computes sums of products of its operands, from left to right. Axes of the operands have letters; those
// that the result does not have are summed.
func einsum(c *call) []value {
	terms, out := c.equation()
	y, have := c.asNode(c.value(0)), terms[0]
	for i := 1; ; i++ {
		later := out + strings.Join(terms[min(i+1, len(terms)):], "")
		if i >= len(terms) {
			return nodes(c.arranged(c.summed(y, have, out), lettersIn(have, out), out))
		}
		y, have = c.product(y, have, c.asNode(c.value(i)), terms[i], later)
	}
}

// equation returns the letters of the axes of each operand and of the result. The axes that an ellipsis stands for
// have the letters 0, 1, …, from the last one on.
func (c *call) equation() (terms []string, out string) {
	text := strings.ReplaceAll(c.text("equation", ""), " ", "")
	left, out, explicit := strings.Cut(text, "->")
	terms = strings.Split(left, ",")
	if len(terms) != len(c.in) {
		c.failf("%d terms in the equation %q for %d inputs", len(terms), text, len(c.in))
	}
	most := 0
	for i, term := range terms {
		n := len(c.value(i).shape())
		named := len(strings.Replace(term, "...", "", 1))
		if named > n || named < n && !strings.Contains(term, "...") || n-named > 10 {
			c.failf("the term %q of the equation %q for shape %v", term, text, c.value(i).shape())
		}
		most = max(most, n-named)
		terms[i] = strings.Replace(term, "...", dots(n-named), 1)
	}
	if !explicit {
		out = "..." + once(strings.Join(terms, ""))
	}
	out = strings.Replace(out, "...", dots(most), 1)
	for _, term := range append(slices.Clone(terms), out) {
		for k, letter := range term {
			digit, word := letter >= '0' && letter <= '9', letter >= 'a' && letter <= 'z' || letter >= 'A' && letter <= 'Z'
			if !digit && !word || strings.ContainsRune(term[:k], letter) || !strings.ContainsRune(strings.Join(terms, ""), letter) {
				c.failf("the letter %q in the equation %q", letter, text)
			}
		}
	}
	return terms, out
}

// dots returns the letters of the last n axes of an ellipsis.
func dots(n int) string { return "9876543210"[10-n:] }

// once returns the letters that occur once, in alphabetical order.
func once(letters string) string {
	var out []rune
	for _, l := range letters {
		if strings.Count(letters, string(l)) == 1 && l > '9' {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return string(out)
}

// lettersIn returns the letters of have that are among others, in the order of have.
func lettersIn(have, others string) string {
	return strings.Map(func(l rune) rune {
		if strings.ContainsRune(others, l) {
			return l
		}
		return -1
	}, have)
}

// summed sums the axes of x whose letters are not among those to keep.
func (c *call) summed(x *graph.Node, have, keep string) *graph.Node {
	to, shape := x.Shape().Clone(), []int{}
	for d, l := range have {
		if strings.ContainsRune(keep, l) {
			shape = append(shape, to[d])
		} else {
			to[d] = 1
		}
	}
	if len(shape) == len(have) {
		return x
	}
	return c.made(c.b.Reshape(c.b.SumTo(x, to...), shape...))
}

// arranged gives x the order of axes of other letters; a letter that x does not have gets an axis of extent 1.
func (c *call) arranged(x *graph.Node, have, want string) *graph.Node {
	var perm, shape []int
	for _, l := range want {
		if d := strings.IndexRune(have, l); d >= 0 {
			perm, shape = append(perm, d), append(shape, x.Shape()[d])
		} else {
			shape = append(shape, 1)
		}
	}
	if !slices.IsSorted(perm) {
		x = c.b.Transpose(x, perm...)
	}
	if len(shape) != len(perm) {
		x = c.b.Reshape(x, shape...)
	}
	return c.made(x)
}

// product multiplies x by y and sums the letters that neither of them shares with later. The result is a product of
// matrices unless a letter of a shared table, such as a head of its own weights, would come before the examples.
func (c *call) product(x *graph.Node, xs string, y *graph.Node, ys, later string) (*graph.Node, string) {
	later = unique(later)
	x, xs = c.summed(x, xs, later+ys), lettersIn(xs, later+ys)
	y, ys = c.summed(y, ys, later+xs), lettersIn(ys, later+xs)
	c.checkExtents(x, xs, y, ys)
	if later != "" && !strings.Contains(xs, later[:1]) { // the first letter of the result is that of the examples
		x, xs, y, ys = y, ys, x, xs
	}
	both := lettersIn(lettersIn(later, xs), ys)
	left, right, inner := lettersWithout(lettersIn(later, xs), both), lettersWithout(lettersIn(later, ys), both), lettersWithout(lettersIn(xs, ys), later)
	if out := both + left + right; both != "" && later != "" && both[0] != later[0] || sizesDiffer(x, xs, y, ys, both+inner) {
		all := lettersIn(later, out) + inner
		p := c.made(c.b.Mul(c.arranged(x, xs, all), c.arranged(y, ys, all)))
		return c.summed(p, all, out), lettersIn(all, out)
	}
	x, y = c.arranged(x, xs, both+left+inner), c.arranged(y, ys, both+inner+right)
	n, nx := x.Shape()[:len(both)], x.Shape()[len(both):]
	ny := y.Shape()[len(both):]
	rows, columns := nx[:len(left)], ny[len(inner):]
	k := product(nx[len(left):])
	stack := []int{product(rows), k}
	if len(both) == 0 && len(rows) > 1 { // the examples keep their axis
		stack = []int{rows[0], product(rows[1:]), k}
	}
	z := c.b.MatMul(c.b.Reshape(x, slices.Concat(n, stack)...), c.b.Reshape(y, slices.Concat(n, []int{k, product(columns)})...), false, false)
	return c.made(c.b.Reshape(z, slices.Concat(n, rows, columns)...)), both + left + right
}

// unique returns the letters, each once.
func unique(letters string) string {
	out := ""
	for _, l := range letters {
		if !strings.ContainsRune(out, l) {
			out += string(l)
		}
	}
	return out
}

// lettersWithout returns the letters that are not among others.
func lettersWithout(letters, others string) string {
	return strings.Map(func(l rune) rune {
		if strings.ContainsRune(others, l) {
			return -1
		}
		return l
	}, letters)
}

// checkExtents ends the operator where axes of one letter do not fit together.
func (c *call) checkExtents(x *graph.Node, xs string, y *graph.Node, ys string) {
	for d, l := range xs {
		if k := strings.IndexRune(ys, l); k >= 0 {
			if p, q := x.Shape()[d], y.Shape()[k]; p != q && p != 1 && q != 1 {
				c.failf("the letter %q has the extents %d and %d in the equation %q", l, p, q, c.text("equation", ""))
			}
		}
	}
}

// sizesDiffer reports whether an axis of one operand is repeated for the other.
func sizesDiffer(x *graph.Node, xs string, y *graph.Node, ys, letters string) bool {
	for _, l := range letters {
		if x.Shape()[strings.IndexRune(xs, l)] != y.Shape()[strings.IndexRune(ys, l)] {
			return true
		}
	}
	return false
}
