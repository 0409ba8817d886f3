package jacobian

import "github.com/go-valla/valla/graph"

// Factors returns the Jacobian of all outputs at x [B,…] in factors. For each parameter of
// the network, in its order, it returns the outer products whose sum is the Jacobian: one for
// each use of the parameter, and none if the outputs do not depend on it. A factor has one
// row for each output of each example, [B·C,·]. If the outputs of an example share it, it has
// one row for each example, [B,·]. Kronecker approximations of the Gauss-Newton matrix are
// made of these factors.
func (k NTK) Factors(b *graph.Builder, x *graph.Node) [][]graph.Outer {
	j := k.all(b, x)
	if b.Err() != nil {
		return nil
	}
	uses := make([][]graph.Outer, len(j.uses))
	for i, own := range j.uses {
		for _, o := range own {
			uses[i] = append(uses[i], graph.Outer{Left: j.factorRows(b, o.Left), Right: j.factorRows(b, o.Right)})
		}
	}
	return uses
}

// factorRows returns a factor as rows. It repeats one that is the same for all examples.
func (j *jac) factorRows(b *graph.Builder, n *graph.Node) *graph.Node {
	if n == nil {
		return nil
	}
	return flat(b, repeated(b, n, j.examples, n.Shape()[1], n.Shape()[2]))
}
