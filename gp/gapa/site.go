package gapa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// site is a place in a network where the values become Gaussian processes. The network is
// after(φ(u)), where u is what before gives.
type site struct {
	before, after layers.Sequential // the layers on both sides of the site
	phi           layers.Network    // φ; nil is the identity
	shape         tensor.Shape      // of u of one example
}

// width is d, the number of values.
func (s site) width() int { return s.shape.TotalSize() }

// sites lists the places in a network for inputs of a shape each: the activations between
// its layers, and the means over all places of an image. An activation within a residual
// block is no place, because what follows it is not a function of it alone.
func sites(net layers.Network, input []int, dt tensor.Dtype) (all []site, err error) {
	list, err := layers.Chain(net, input, dt)
	if err != nil {
		return nil, err
	}
	b := graph.NewBuilder(dt)
	x := b.Input("x", append([]int{1}, input...)...)
	for i, l := range list {
		u := x
		if x = l.Forward(b, u); b.Err() != nil {
			return nil, b.Err()
		}
		s := site{before: list[:i], phi: l, after: list[i+1:], shape: u.Shape()[1:].Clone()}
		at, ok := l.(layers.Site)
		if !ok || len(s.after) == 0 {
			continue
		}
		if !at.Pointwise() {
			s.before, s.phi, s.shape = list[:i+1], nil, x.Shape()[1:].Clone()
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the network has no activation between two of its layers, expected one that can become Gaussian processes; its layers are %s", titles(list))
	}
	return all, nil
}

// titles lists the names of layers.
func titles(list layers.Sequential) string {
	var names []string
	for _, l := range list {
		names = append(names, layers.Title(l))
	}
	return strings.Join(names, ", ")
}

// siteOf returns the place with a number, counted from 1 at the inputs, and this number. The
// number 0 stands for the first place whose values are vectors, or the last one.
func siteOf(net layers.Network, input []int, dt tensor.Dtype, number int) (site, int, error) {
	all, err := sites(net, input, dt)
	if err != nil {
		return site{}, 0, err
	}
	if number > len(all) {
		return site{}, 0, fmt.Errorf("layer %d, expected a number from 1 to %d, of the network's activations", number, len(all))
	}
	if number == 0 {
		number = 1 + slices.IndexFunc(all, func(s site) bool { return len(s.shape) == 1 })
	}
	if number == 0 {
		number = len(all)
	}
	return all[number-1], number, nil
}

// shifted is a network in which the values at a site have an array added to them, which is
// zero. So the derivatives by the values are those by a parameter.
type shifted struct {
	site               // where the values are shifted
	shift *graph.Param // [d]
}

func newShifted(s site, dt tensor.Dtype) shifted {
	d := s.width()
	return shifted{s, graph.NewParam("gapa.shift", make([]float64, d), dt, d)}
}

// Params implements layers.Network.
func (s shifted) Params() []*graph.Param { return []*graph.Param{s.shift} }

// Forward implements layers.Network.
func (s shifted) Forward(b *graph.Builder, x *graph.Node) *graph.Node {
	_, out := s.run(b, x)
	return out
}

// run writes u [B,d] and the network's outputs [B,C].
func (s shifted) run(b *graph.Builder, x *graph.Node) (u, out *graph.Node) {
	u = s.before.Forward(b, x)
	if b.Err() != nil {
		return nil, nil
	}
	a, flat := u, []int{x.Shape()[0], s.width()}
	if s.phi != nil {
		a = s.phi.Forward(b, u)
	}
	moved := b.Reshape(b.AddBias(b.Reshape(a, flat...), b.Param(s.shift)), u.Shape()...)
	return b.Reshape(u, flat...), s.after.Forward(b, moved)
}
