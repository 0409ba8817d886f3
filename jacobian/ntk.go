package jacobian

import (
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
)

// NTK is the neural tangent kernel κ(x,x') = J(x) J(x')ᵀ of a network with C outputs. Its
// methods write it into a graph as nodes, through which gradients flow to the inputs. The
// kernel is not multiplied by the prior variance.
type NTK struct {
	Net   layers.Network // maps [B,…] to [B,C]
	Dense bool           // every Jacobian row is formed by a reverse pass, as a slow and simple reference

	seeds    *graph.Node // combinations of outputs [B,K,C], see Combined; nil: the outputs themselves
	unformed bool        // the network is written, and no Jacobian is derived
}

// Combined returns the kernel of K combinations of the outputs of each example, instead of the
// outputs themselves: seeds [B,K,C] make of f(x_b) the values Σ_c seeds_bkc f_c(x_b). Rows with
// a single 1 choose outputs, which may differ from example to example. C is then K in what the
// methods return for x [B,…]. At z they take single outputs as before.
//
// The seeds count as constants: no gradient flows through them.
func (k NTK) Combined(seeds *graph.Node) NTK {
	k.seeds = seeds
	return k
}

// Diag returns the kernel of each example with itself, [B,C,C], for x [B,…].
func (k NTK) Diag(b *graph.Builder, x *graph.Node) *graph.Node {
	j := k.all(b, x)
	if b.Err() != nil {
		return nil
	}
	sum := j.inner(b, j, withinExamples)
	return repeated(b, sum, j.examples, j.per, j.per)
}

// Variances returns the diagonals of Diag, the kernel of each output of each example with itself:
// [B,C] for x [B,…]. It takes a C-th part of the memory and of the time of Diag.
func (k NTK) Variances(b *graph.Builder, x *graph.Node) *graph.Node {
	j := k.all(b, x)
	if b.Err() != nil {
		return nil
	}
	sum := repeated(b, j.inner(b, j, ownRows), j.examples, j.per, 1)
	return b.Reshape(sum, j.examples, j.per)
}

// Cross returns the kernel [B,C,M] between all outputs at x [B,…] and output class[m] at row m
// of z [M,…]: its element b, c, m is κ_{c,class[m]}(x_b, z_m).
func (k NTK) Cross(b *graph.Builder, x, z *graph.Node, class []int) *graph.Node {
	jx, jz := k.all(b, x), k.chosen(b, z, class)
	if b.Err() != nil {
		return nil
	}
	sum := jx.inner(b, jz, acrossExamples)
	return repeated(b, sum, jx.examples, jx.per, jz.examples)
}

// Gram returns the kernel [M,M] among the outputs class[m] at the rows m of z [M,…]: its
// element m, m' is κ_{class[m],class[m']}(z_m, z_m').
func (k NTK) Gram(b *graph.Builder, z *graph.Node, class []int) *graph.Node {
	j := k.chosen(b, z, class)
	if b.Err() != nil {
		return nil
	}
	return repeated(b, j.inner(b, j, amongExamples), j.examples, j.examples)
}

// Rows returns the Jacobian of all outputs at x [B,…], one node [B·C, size] for each
// parameter of the network, in its order; row b·C + c belongs to output c of example b.
func (k NTK) Rows(b *graph.Builder, x *graph.Node) []*graph.Node {
	j := k.all(b, x)
	if b.Err() != nil {
		return nil
	}
	rows := make([]*graph.Node, len(j.uses))
	for i, uses := range j.uses {
		if len(uses) == 0 {
			rows[i] = b.Fill(0, j.examples*j.per, j.params[i].Shape().TotalSize())
			continue
		}
		rows[i] = flat(b, j.expand(b, uses).Right)
	}
	return rows
}

// all returns the Jacobian of every output at x, or of every combination of outputs.
func (k NTK) all(b *graph.Builder, x *graph.Node) *jac {
	return k.at(b, x, func(j *jac) {
		examples, outputs := j.out.Shape()[0], j.out.Shape()[1]
		if k.seeds != nil {
			j.combine(b, k.seeds)
			return
		}
		j.class, j.per = dense.Cycle(examples*outputs, outputs), outputs
	})
}

// combine makes the rows of j the Jacobian rows of the combinations seeds of outputs.
func (j *jac) combine(b *graph.Builder, seeds *graph.Node) {
	s, out := seeds.Shape(), j.out.Shape()
	if len(s) != 3 || s[0] != out[0] || s[2] != out[1] {
		b.Failf("jacobian: combinations of shape %v for outputs of shape %v, expected [%d,K,%d]", s, out, out[0], out[1])
		return
	}
	j.seeds, j.per = b.Detach(seeds), s[1]
}

// chosen returns the Jacobian of output class[m] at row m of z.
func (k NTK) chosen(b *graph.Builder, z *graph.Node, class []int) *jac {
	if b.Err() == nil && z != nil && (z.Dims() == 0 || len(class) != z.Shape()[0]) {
		b.Failf("jacobian: %d classes for inputs of shape %v", len(class), z.Shape())
	}
	return k.at(b, z, func(j *jac) { j.class, j.per = class, 1 })
}

// at writes the network at x into the graph and derives its Jacobian, whose rows choose sets.
func (k NTK) at(b *graph.Builder, x *graph.Node, choose func(j *jac)) *jac {
	if b.Err() == nil && x == nil {
		b.Failf("jacobian: the input is nil")
	}
	if b.Err() != nil {
		return nil
	}
	out := k.Net.Forward(b, x)
	if b.Err() != nil {
		return nil
	}
	if out.Dims() != 2 || x.Dims() < 1 || out.Shape()[0] != x.Shape()[0] {
		b.Failf("jacobian: the network maps shape %v to %v; expected [B,…] to [B,C]", x.Shape(), out.Shape())
		return nil
	}
	j := &jac{x: x, out: out, examples: out.Shape()[0]}
	choose(j)
	j.addParams(b, k.Net.Params())
	j.checkClass(b)
	switch {
	case b.Err() != nil:
		return nil
	case k.unformed:
	case k.Dense:
		j.dense(b, nil)
	default:
		j.structured(b)
	}
	return j
}

// FormedDensely returns the parameters whose rows the structured algorithm forms by one reverse
// pass for each example and output, because an operation between them and the output has no
// rule. x [B,…] are any inputs; two examples at least tell the rows apart.
func (k NTK) FormedDensely(b *graph.Builder, x *graph.Node) []*graph.Param {
	k.unformed = true
	j := k.all(b, x)
	if b.Err() != nil {
		return nil
	}
	w := j.newWalk()
	if !w.rowWise() {
		return k.Net.Params()
	}
	w.pass(b)
	var found []*graph.Param
	for i, p := range k.Net.Params() {
		if w.noRule[w.params[i]] {
			found = append(found, p)
		}
	}
	return found
}

// addParams adds the network's parameters. It refuses cases in which the algorithms would not
// agree.
func (j *jac) addParams(b *graph.Builder, params []*graph.Param) {
	below, listed := map[*graph.Node]bool{}, map[*graph.Node]bool{}
	for _, n := range graph.Ancestors(j.x) {
		below[n] = true
	}
	for _, p := range params {
		n := b.Param(p)
		if b.Err() == nil && listed[n] {
			b.Failf("jacobian: the network lists parameter %q twice", p.Name)
		}
		if listed[n] = true; b.Err() == nil && below[n] {
			b.Failf("jacobian: the input depends on the network's parameter %q", p.Name)
		}
		j.params = append(j.params, n)
	}
	if len(params) == 0 {
		b.Failf("jacobian: the network has no parameters")
	}
}

func (j *jac) checkClass(b *graph.Builder) {
	outputs := j.out.Shape()[1]
	for m, c := range j.class {
		if c < 0 || c >= outputs {
			b.Failf("jacobian: class[%d] is %d, the network has %d outputs", m, c, outputs)
		}
	}
}
