package ensemble

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// posterior is a mixture of posteriors of one method.
type posterior struct {
	mixture
	stored []gp.Stored // the members
}

var (
	_ gp.Stored         = (*posterior)(nil)
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.OwnMean        = (*posterior)(nil)
)

// add appends a member with its noise.
func (p *posterior) add(of gp.Stored, noise float64) {
	p.stored, p.members, p.noise = append(p.stored, of), append(p.members, of), append(p.noise, noise)
}

// String implements gp.Stored: the name of a member with a mean of its own, if there is one.
func (p *posterior) String() string { return label(len(p.stored), p.stored[p.own()].String()) }

// own returns the number of the first member with a mean of its own, 0 where there is none.
func (p *posterior) own() int {
	return max(0, slices.IndexFunc(p.stored, func(of gp.Stored) bool { return gp.MeanOf(of) != "" }))
}

// OwnMean implements gp.OwnMean.
func (p *posterior) OwnMean() string { return gp.MeanOf(p.stored[p.own()]) }

// header is what a file says of a posterior beside the arrays of its members.
type header struct {
	Members []json.RawMessage `json:"members"`        // header of each member
	Noise   []float64         `json:"noise_variance"` // of each member, see gp.Scatter
}

// prefix is before the names of the arrays of member k, counting from 0.
func prefix(k int) string { return fmt.Sprintf("%d/", k+1) }

// State implements gp.Stored.
func (p *posterior) State() (out gp.State, err error) {
	h := header{Noise: p.noise}
	for k, of := range p.stored {
		text, err := out.Add(of, prefix(k))
		if err != nil {
			return out, err
		}
		h.Members = append(h.Members, text)
	}
	out.Header = h
	return out, nil
}

// Restore makes a posterior of what its State returned. The method how made the members. For a network that is no
// ensemble, Restore is that of the method.
func Restore(ctx context.Context, how gp.Method, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	all := layers.Members(net)
	if all == nil {
		return how.Restore(ctx, net, l, s)
	}
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	if len(h.Members) != len(all) || len(h.Noise) != len(all) {
		return nil, fmt.Errorf("%d members and %d noise variances, expected %d as networks", len(h.Members), len(h.Noise), len(all))
	}
	p := &posterior{}
	for k, of := range all {
		if v := h.Noise[k]; !(v >= 0) || !kernel.Finite(v) {
			return nil, fmt.Errorf("noise variance %g of network %d, expected a finite number that is not negative", v, k+1)
		}
		one, err := how.Restore(ctx, of, l, gp.SavedPart(s, h.Members[k], prefix(k)))
		if err != nil {
			return nil, fmt.Errorf("network %d: %w", k+1, err)
		}
		p.add(one, h.Noise[k])
	}
	return p, nil
}
