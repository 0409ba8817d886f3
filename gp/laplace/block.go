package laplace

import (
	"fmt"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/jacobian"
)

// block is the Jacobian of one parameter: row r, of output c at example n, is the
// outer product a_n ⊗ d_r, or a sum of outer products over T places. Where the graph does not
// give the Jacobian in this form, d holds whole rows.
type block struct {
	param  *graph.Param // the parameter that the block belongs to
	offset int          // of its first element among the weights
	a      *graph.Node  // [B,p] or [B,T,p], shared by the outputs; nil: the number 1
	d      *graph.Node  // [B·C,q] or [B·C,T,q]
	images *graph.Node  // of which a are the patches, where patches sums them up
	// swapped says that the parameter is stored as [q,p], not [p,q].
	swapped bool
	// tokens [B,T] are the places in a table of which d [B·C,T·E] are the cotangents, see tabled; nil: no such table.
	tokens *graph.Node

	p, q   int // rows and columns of the block: the sizes of a and d
	places int // T, 1 without places
}

// keeping says which Jacobians keep another form than whole rows and single outer products.
type keeping struct {
	places bool // sums over the places of a convolution stay factored
	tokens bool // rows of large tables have the tokens of their example alone
}

// group lists the blocks, by index, that share the cotangents d.
type group struct {
	d      *graph.Node // the cotangents that the blocks share
	q      int         // width of d
	blocks []int       // numbers of the blocks of the group
}

// addBlocks finds the form of each parameter's Jacobian. like, if not nil, are blocks of the same
// parameters whose forms the new blocks are to have.
func (s *scanner) addBlocks(k jacobian.NTK, keep keeping, like []block) {
	uses := k.Factors(s.builder, s.in)
	var whole []*graph.Node
	for i, u := range uses {
		n := block{param: s.weights[i], offset: s.params}
		kept := keep.places && n.convolved(s.builder, u) || keep.tokens && n.tabled(s.builder, u)
		if !kept && !n.factored(u, s.batch, s.batch*s.outputs) || like != nil && !n.turned(like[i]) {
			if whole == nil {
				whole = k.Rows(s.builder, s.in)
			}
			if s.builder.Err() != nil {
				return
			}
			n = block{param: n.param, offset: n.offset, d: whole[i]}
		}
		n.d = s.addToGroup(i, n.d)
		n.p, n.q, n.places = 1, width(n.d), 1
		if n.a != nil {
			n.p = width(n.a)
		}
		if n.d.Dims() == 3 {
			n.places = n.d.Shape()[1]
		}
		s.blocks = append(s.blocks, n)
		s.params += n.size()
	}
}

// addToGroup puts block i into the group of its cotangents d, and returns the node that
// holds them for the whole group.
func (s *scanner) addToGroup(i int, d *graph.Node) *graph.Node {
	for g := range s.groups {
		if alike(s.groups[g].d, d, 4) {
			s.groups[g].blocks = append(s.groups[g].blocks, i)
			return s.groups[g].d
		}
	}
	s.groups = append(s.groups, group{d: d, q: width(d), blocks: []int{i}})
	return d
}

// alike reports whether two nodes are computed in the same way, up to reshaping. It compares
// depth operations: a graph holds a node once, but may reshape it in several ways.
func alike(u, v *graph.Node, depth int) bool {
	if !u.Shape().Eq(v.Shape()) {
		return false
	}
	u, v = graph.Unshaped(u), graph.Unshaped(v)
	in, other := graph.Children(u), graph.Children(v)
	if u == v || depth == 0 || len(in) == 0 || len(in) != len(other) || u.Op().Hashcode() != v.Op().Hashcode() {
		return u == v
	}
	for i := range in {
		if !alike(in[i], other[i], depth-1) {
			return false
		}
	}
	return true
}

// factored fills in k where the Jacobian is a single outer product, of which one factor is
// shared by the outputs, and reports whether it is.
func (k *block) factored(uses []graph.Outer, examples, rows int) bool {
	if len(uses) != 1 {
		return false
	}
	left, right := uses[0].Left, uses[0].Right
	switch {
	case left == nil && right.Shape()[0] == rows:
		k.d = right
	case left != nil && left.Shape()[0] == examples && right.Shape()[0] == rows:
		k.a, k.d = left, right
	case left != nil && left.Shape()[0] == rows && right.Shape()[0] == examples:
		k.a, k.d, k.swapped = right, left, true
	}
	return k.d != nil
}

// turned gives an outer product of one row for each example, whose factors look alike, the order
// of another block, and reports whether it has the form of that.
func (k *block) turned(like block) bool {
	if k.a != nil && like.a != nil && k.swapped != like.swapped {
		k.a, k.d, k.swapped = k.d, k.a, like.swapped
	}
	return (k.a == nil) == (like.a == nil)
}

// width is the number of columns of a factor, its last axis.
func width(n *graph.Node) int { return n.Shape()[n.Dims()-1] }

// shape is the shape of the weights of the block, [p,q]. A table has one row.
func (k block) shape() []int {
	if k.tokens != nil {
		return []int{1, k.param.Value.Shape().TotalSize()}
	}
	return []int{k.p, k.q}
}

func (k block) size() int { return k.shape()[0] * k.shape()[1] }

// at is the index of the element a_i d_j among the weights.
func (k block) at(i, j int) int {
	if k.swapped {
		return k.offset + j*k.p + i
	}
	return k.offset + i*k.q + j
}

// nodes are the factors.
func (k block) nodes() []*graph.Node {
	if k.a == nil {
		return []*graph.Node{k.d}
	}
	return []*graph.Node{k.a, k.d}
}

// inputs is what the second moments of a are summed up from, nil without a.
func (k block) inputs() *graph.Node {
	if k.images != nil {
		return k.images
	}
	return k.a
}

// jacobian writes the Jacobian rows to the first P columns of dst, [count·C, ld].
func (b batch) jacobian(dst []float64, ld int) error {
	for _, k := range b.blocks {
		d, q := rows[float64](b, k.d), k.q
		var a []float64
		if k.a != nil {
			a = rows[float64](b, k.a)
		}
		for r := range b.size() {
			part := dst[r*ld+k.offset : r*ld+k.offset+k.size()]
			if k.a == nil {
				copy(part, d[r*q:])
			} else {
				k.outer(part, a[r/b.outputs*k.p:], d[r*q:(r+1)*q])
			}
			if i, v := kernel.FirstNonFinite(part); i >= 0 {
				return fmt.Errorf("laplace: example %d: the derivative of output %d in weight %d is %g",
					b.first+r/b.outputs, r%b.outputs, k.offset+i, v)
			}
		}
	}
	return nil
}

// outer sets dst = a⊗d, or d⊗a if swapped.
func (k block) outer(dst, a, d []float64) {
	a = a[:k.p]
	if k.swapped {
		a, d = d, a
	}
	for i, v := range a {
		kernel.Scale(dst[i*len(d):(i+1)*len(d)], v, d)
	}
}
