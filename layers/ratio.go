package layers

import (
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
)

// Ratio divides the outputs of a network by those of another network at the same inputs. The arrays of the divisor are
// none of the Ratio's: they stay as they are, and are certain.
type Ratio struct {
	Net Network // with outputs [B,C]
	By  Network // with positive outputs [B,C]
}

// Through implements Composite: the only part is Net.
func (r Ratio) Through(b *graph.Builder, x *graph.Node, write func(part Network, x *graph.Node) *graph.Node) *graph.Node {
	y, by := write(r.Net, x), r.By.Forward(b, x)
	if b.Err() == nil && !slices.Equal(y.Shape(), by.Shape()) { // Div would broadcast
		return b.Failf("layers: outputs of shape %v divided by those of shape %v", y.Shape(), by.Shape())
	}
	return b.Div(y, by)
}

// Forward implements Network.
func (r Ratio) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	return r.Through(b, x, func(part Network, x *graph.Node) *graph.Node { return part.Forward(b, x) })
}

// Params implements Network.
func (r Ratio) Params() []*graph.Param { return r.Net.Params() }

// ByLayer returns the groups of Net, see [ByLayer].
func (r Ratio) ByLayer() [][]*graph.Param { return ByLayer(r.Net) }

// Title names the Ratio in messages.
func (r Ratio) Title() string {
	return fmt.Sprintf("%s divided by the scale of the noise", Title(r.Net))
}

func (r Ratio) parts() []Network { return []Network{r.Net} }
