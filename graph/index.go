package graph

import (
	"reflect"

	"gorgonia.org/gorgonia"
)

// index finds nodes of a graph in constant time. Gorgonia looks through all nodes for a name, and once
// for the id of each node, so that writing a graph would take time in the square of its nodes.
type index struct {
	g      *gorgonia.ExprGraph
	leaves map[string]*Node // by their names
	seen   int              // nodes of g of which leaves knows
	places map[int64]int    // Gorgonia's own memory of the place of each id; nil if it has none
}

func newIndex(g *gorgonia.ExprGraph) *index {
	i := &index{g: g, leaves: map[string]*Node{}}
	if f := reflect.ValueOf(g).Elem().FieldByName("byID"); f.IsValid() {
		i.places, _ = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem().Interface().(map[int64]int)
	}
	return i
}

// leaf returns the leaf of a name, nil if there is none. Others than the Builder may have added it.
func (i *index) leaf(name string) *Node {
	all := i.g.AllNodes()
	for ; i.seen < len(all); i.seen++ {
		if n := all[i.seen]; n.IsVar() && i.leaves[n.Name()] == nil {
			i.leaves[n.Name()] = n
		}
	}
	return i.leaves[name]
}

// expect tells Gorgonia where the next node will be. Without removed nodes the id of a node is its place.
func (i *index) expect() {
	all := i.g.AllNodes()
	if next := len(all); i.places != nil && (next == 0 || all[next-1].ID() == int64(next-1)) {
		i.places[int64(next)] = next
	}
}
