package layers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
)

// Names of choices of parameters, see [Choose].
const (
	AllWeights       = "all"
	LastLayerWeights = "last-layer"
)

// Choose returns the parameters of a network that names choose: "all", "last-layer" (see
// [LastLayer]), or the names of parameters, in which * stands for any letters. No names mean all.
// A name that fits no parameter, or fits a parameter that is chosen already, is an error.
func Choose(net Network, names ...string) ([]*graph.Param, error) {
	all := net.Params()
	switch {
	case len(names) == 0, slices.Equal(names, []string{AllWeights}):
		return all, nil
	case slices.Equal(names, []string{LastLayerWeights}):
		return LastLayer(net), nil
	}
	var chosen []*graph.Param
	for _, name := range names {
		var found []*graph.Param
		for _, p := range all {
			if MatchName(name, p.Name) {
				found = append(found, p)
			}
		}
		if len(found) == 0 || slices.ContainsFunc(found, func(p *graph.Param) bool { return slices.Contains(chosen, p) }) {
			known := Names(all)
			return nil, fmt.Errorf("parameter %q is unknown or named twice; the network has %s%s", name, list(known), settings.Nearest(name, append(known, AllWeights, LastLayerWeights)))
		}
		chosen = append(chosen, found...)
	}
	return chosen, nil
}

// MatchName says whether a name is the pattern, in which * stands for any letters.
func MatchName(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`^` + strings.Join(parts, `.*`) + `$`).MatchString(name)
}

// LastLayer returns the parameters of the last layer that has any. A network that is no list of
// layers may have a method LastLayer that returns them; for a network without the method LastLayer
// returns all parameters.
func LastLayer(net Network) []*graph.Param {
	switch n := net.(type) {
	case Sequential:
		for _, l := range slices.Backward(n) {
			if len(l.Params()) > 0 {
				return LastLayer(l)
			}
		}
	case Residual:
		return LastLayer(n.Inner)
	case interface{ LastLayer() []*graph.Param }:
		return n.LastLayer()
	}
	return net.Params()
}

// Part is a network in which only some parameters count as parameters.
type Part struct {
	Network
	Chosen []*graph.Param
}

// Params implements Network.
func (p Part) Params() []*graph.Param { return p.Chosen }
