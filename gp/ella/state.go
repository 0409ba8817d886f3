package ella

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The names of a posterior's arrays in a file.
const (
	nameV = "ella.v"
	nameG = "ella.g"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Points   int     `json:"points"`    // M
	Rank     int     `json:"rank"`      // K
	Inputs   []int   `json:"inputs"`    // the shape of one
	PriorStd float64 `json:"prior_std"` // σ₀
	Share    float64 `json:"share"`     // of the training rows that were seen
}

// State implements gp.Stored: the directions v [K,P] and G [K,K].
func (p *posterior) State() (gp.State, error) {
	k := p.Rank()
	return gp.State{
		Header: header{Points: p.points, Rank: k, Inputs: p.Input.Clone(), PriorStd: p.prior, Share: p.share},
		Arrays: []gp.Array{{Name: nameV, Value: p.V}, {Name: nameG, Value: dense.Of(p.g, k, k)}},
	}, nil
}

// restore puts a posterior on a network from what its State returned. Inputs that the
// network does not take are errors.
func restore(_ context.Context, net layers.Network, _ likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	dt, err := h.check(net)
	if err != nil {
		return nil, fmt.Errorf("ella: %w", err)
	}
	r := &gp.Reader{Saved: s}
	v, g := r.Read(nameV, dt, h.Rank, layers.Count(net)), r.Floats(nameG, h.Rank, h.Rank)
	if r.Err != nil {
		return nil, r.Err
	}
	p := &posterior{Posterior: inDirections(net, h.Inputs, v, gp.Run{}.Limit()), g: g, prior: h.PriorStd, share: h.Share, points: h.Points}
	return gp.Restored(p, p.finish())
}

// check returns the network's element type. It refuses numbers that no fit can have, and inputs that
// the network does not take.
func (h *header) check(net layers.Network) (tensor.Dtype, error) {
	dt, _, err := gp.CheckInputs(net, h.Inputs, 0)
	switch {
	case err != nil:
		return dt, err
	case h.Points < 1 || h.Rank < 1 || h.Rank > min(h.Points, layers.Count(net)):
		return dt, fmt.Errorf("%d directions of %d points, expected at least 1, and at most as many as there are points and weights", h.Rank, h.Points)
	case !(h.Share > 0 && h.Share <= 1):
		return dt, fmt.Errorf("a share %g of the rows, expected a number above 0, at most 1", h.Share)
	}
	return dt, gp.CheckPositive(gp.Fact{Name: "prior standard deviation", Value: h.PriorStd})
}
