package laplace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
)

// String names the posterior as in a table of scores, such as "LLA", "LLA KFAC", "LLA
// last-layer Diag" or "GP-Subset".
func (p *posterior) String() string {
	if p.subset {
		return subsetLabel
	}
	h := p.Header()
	return labelOf(p.choice, h.Structure, h.Rank)
}

// labelOf names a posterior by its choice of weights, see choiceOf, and its structure.
func labelOf(choice string, s structureKind, rank int) string {
	words := []string{"LLA"}
	if choice != "" {
		words = append(words, choice)
	}
	switch s {
	case kindKFAC:
		words = append(words, "KFAC")
	case kindDiagonal:
		words = append(words, "Diag")
	case kindLowRank:
		words = append(words, fmt.Sprint("low-rank ", rank))
	}
	return strings.Join(words, " ")
}

// choiceOf describes which of the network's parameters are uncertain: "" for all,
// "last-layer" or a number of arrays. Posteriors that were read from a file are named
// alike, because it needs nothing but the parameters.
func choiceOf(net layers.Network, chosen []*graph.Param) string {
	for _, c := range []struct{ weights, name string }{{layers.AllWeights, ""}, {layers.LastLayerWeights, layers.LastLayerWeights}} {
		if of, err := layers.Choose(net, c.weights); err == nil && sameParams(of, chosen) {
			return c.name
		}
	}
	return arrayCount(len(chosen))
}

func arrayCount(n int) string {
	if n == 1 {
		return "of 1 array"
	}
	return fmt.Sprintf("of %d arrays", n)
}

// sameParams compares in any order.
func sameParams(a, b []*graph.Param) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(p *graph.Param) bool { return !slices.Contains(b, p) })
}
