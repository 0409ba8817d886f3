package jacobian

import "github.com/go-valla/valla/graph"

// Factors returns the Jacobian of all outputs at x [B,…] as it is before it is
// multiplied out: for each parameter of the network, in its order, the outer products
// whose sum it is, one for each use of the parameter, none where the outputs do not
// depend on it. A factor has one row for each output of each example, [B·C,·], or,
// where the outputs of an example share it, one for each example, [B,·]. Kronecker
// approximations of the Gauss-Newton matrix are made of these.
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

// factorRows repeats a factor that is the same for all examples.
func (j *jac) factorRows(b *graph.Builder, n *graph.Node) *graph.Node {
	if n == nil {
		return nil
	}
	return flat(b, repeated(b, n, j.examples, n.Shape()[1], n.Shape()[2]))
}
