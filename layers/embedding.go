package layers

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Embedding describes a table of vectors, a row for each token. Inputs [T] are numbers of tokens, from 0 to
// Rows − 1; the outputs [T,Width] are their rows.
type Embedding struct {
	Name  string `json:"name,omitempty"` // empty: embedding1, embedding2, …
	Rows  int    `json:"rows"`           // number of tokens, V
	Width int    `json:"width"`          // elements of a row, E
}

// embedding is the layer that [Embedding] describes.
type embedding struct {
	table     *graph.Param // [V,E]
	describes Embedding    // the description the layer was made of
}

// PoolSteps joins the steps of sequences [T,E] to vectors [E].
type PoolSteps struct {
	none
	Take string `json:"take"` // mean, first or last
}

func init() {
	RegisterLayer[Embedding]("embedding")
	RegisterLayer[PoolSteps]("pool-steps")
}

// Make implements Layer. Rows are drawn from N(0, 1).
func (l Embedding) Make(m *Maker, in []int) (Network, []int, error) {
	switch {
	case len(in) != 1:
		return nil, nil, fmt.Errorf("inputs of shape %v, expected numbers of tokens [T]", in)
	case l.Rows < 1 || l.Width < 1:
		return nil, nil, fmt.Errorf("a table of %d rows of %d elements, expected at least 1", l.Rows, l.Width)
	}
	l.Name = m.Name(l.Name, "embedding")
	return embedding{m.Param(l.Name+".weight", Normal(1), l.Rows, l.Width), l}, []int{in[0], l.Width}, nil
}

// Whole implements Numbering.
func (Embedding) Whole(in []int) []bool {
	return slices.Repeat([]bool{true}, tensor.Shape(in).TotalSize())
}

// Forward implements Network: x [B,T] gives [B,T,E].
func (e embedding) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Embed(b.Param(e.table), x)
}

// Params implements Network.
func (e embedding) Params() []*graph.Param { return []*graph.Param{e.table} }

// InFileOrder implements FileOrdered: the table.
func (e embedding) InFileOrder() []*graph.Param { return e.Params() }

// Describe implements Describer.
func (e embedding) Describe() (Layers, error) { return Layers{e.describes}, nil }

// Make implements Layer.
func (p PoolSteps) Make(_ *Maker, in []int) (Network, []int, error) {
	if err := expectSequences(in); err != nil {
		return nil, nil, err
	}
	if p.Take != "mean" && p.Take != "first" && p.Take != "last" {
		return nil, nil, fmt.Errorf("take %q, expected mean, first or last", p.Take)
	}
	return p, in[1:], nil
}

// Forward implements Network: x [B,T,E] gives [B,E].
func (p PoolSteps) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	s := x.Shape()
	switch p.Take {
	case "first":
		x = b.Slice(x, 1, 0, 1)
	case "last":
		x = b.Slice(x, 1, s[1]-1, s[1])
	default:
		x = b.Scale(b.SumAxis(x, 1), 1/float64(s[1]))
	}
	return b.Reshape(x, s[0], s[2])
}

// Pointwise implements Site: the hidden values are the outputs.
func (PoolSteps) Pointwise() bool { return false }

// expectSequences returns an error unless in is the shape of a sequence, [T,E].
func expectSequences(in []int) error {
	if len(in) != 2 {
		return fmt.Errorf("inputs of shape %v, expected sequences [T,E]", in)
	}
	return nil
}
