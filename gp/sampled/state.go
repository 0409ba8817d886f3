package sampled

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/layers"
)

// nameZeta is the name of the samples in a file.
const nameZeta = "sampled.zeta"

// header is what a file says of a posterior beside its array.
type header struct {
	Samples int   `json:"samples"` // S
	Inputs  []int `json:"inputs"`  // the shape of one
}

// State implements gp.Stored: the samples of the weights [S,P].
func (p *posterior) State() (gp.State, error) {
	return gp.State{
		Header: header{Samples: p.Samples(), Inputs: p.input.Clone()},
		Arrays: []gp.Array{{Name: nameZeta, Value: p.zeta}},
	}, nil
}

// restore puts a posterior on a network from what its State returned. Inputs that the network
// does not take are errors.
func restore(_ context.Context, net layers.Network, _ likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	if h.Samples < 1 {
		return nil, fmt.Errorf("sampled: %d samples, expected at least 1", h.Samples)
	}
	dt, _, err := gp.CheckInputs(net, h.Inputs, 0)
	if err != nil {
		return nil, fmt.Errorf("sampled: %w", err)
	}
	zeta, err := s.Array(nameZeta, dt, h.Samples, layers.Count(net))
	if err != nil {
		return nil, err
	}
	return &posterior{net: net, input: h.Inputs, zeta: zeta, limit: gp.Run{}.Limit()}, nil
}
