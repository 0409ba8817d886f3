package layers

import (
	"strings"

	"github.com/go-valla/valla/graph"
)

// ByLayer returns the parameters of a network grouped by layers, in the order of Params. The parts
// of a list of layers are layers; in other networks, parameters whose names agree up to the last dot
// are in one group. A network may have a method ByLayer that returns its own groups. A parameter
// that several layers share belongs to the first layer.
func ByLayer(net Network) [][]*graph.Param {
	var all [][]*graph.Param
	seen := map[*graph.Param]bool{}
	add := func(groups [][]*graph.Param) {
		for _, g := range groups {
			var own []*graph.Param
			for _, p := range g {
				if !seen[p] {
					seen[p], own = true, append(own, p)
				}
			}
			if own != nil {
				all = append(all, own)
			}
		}
	}
	switch n := net.(type) {
	case Sequential:
		for _, l := range n {
			add(ByLayer(l))
		}
	case interface{ ByLayer() [][]*graph.Param }:
		add(n.ByLayer())
	default:
		add(byName(net.Params()))
	}
	return all
}

// byName groups parameters by their names up to the last dot.
func byName(params []*graph.Param) [][]*graph.Param {
	var groups [][]*graph.Param
	at := map[string]int{}
	for _, p := range params {
		name := p.Name
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			name = name[:dot]
		}
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], p)
	}
	return groups
}
