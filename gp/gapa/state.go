package gapa

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The names of a posterior's arrays in a file.
const (
	nameValues = "gapa.values"
	nameScales = "gapa.scales"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Layer      int     `json:"layer"`             // number of the site, from 1
	Inputs     []int   `json:"inputs"`            // the shape of one
	Cached     int     `json:"cached"`            // M
	Neighbours int     `json:"neighbours"`        // k
	Centres    int     `json:"centres,omitempty"` // number of centres
	Length     float64 `json:"length_scale"`      // ℓ
	Noise      float64 `json:"relative_noise"`    // τ
	Factor     float64 `json:"factor"`            // s
}

// State implements gp.Stored: the values at the training rows [M,d] and c² [d].
func (p *posterior) State() (gp.State, error) {
	m := p.memory
	return gp.State{
		Header: header{
			Centres: m.centres.n(), Layer: p.layer, Inputs: p.input.Clone(), Cached: m.m, Neighbours: m.neighbours,
			Length: m.length, Noise: m.noise, Factor: p.factor,
		},
		Arrays: []gp.Array{{Name: nameValues, Value: m.z}, {Name: nameScales, Value: dense.Of(slices.Clone(p.scales), m.d)}},
	}, nil
}

// restore puts a posterior on a network from what its State returned. Inputs that the
// network does not take are errors.
func restore(_ context.Context, net layers.Network, _ likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	at, dt, err := h.check(net)
	if err != nil {
		return nil, fmt.Errorf("gapa: %w", err)
	}
	r := &gp.Reader{Saved: s}
	z, scales := r.Read(nameValues, dt, h.Cached, at.width()), r.Floats(nameScales, at.width())
	if r.Err != nil {
		return nil, r.Err
	}
	if v := slices.Min(scales); v < 0 {
		return nil, fmt.Errorf("gapa: array %q: a variance of %g, expected no negative number", nameScales, v)
	}
	q := &posterior{
		net: net, site: newShifted(at, dt), layer: h.Layer, input: h.Inputs, scales: scales, factor: h.Factor, limit: gp.Run{}.Limit(),
		memory: &memory{index: newIndex(z), neighbours: h.Neighbours, length: h.Length, noise: h.Noise},
	}
	return gp.Restored(q, fault.In("gapa", q.memory.group(h.Centres)))
}

// check returns the site and the network's element type. It refuses numbers that no fit can have,
// and inputs that the network does not take.
func (h *header) check(net layers.Network) (at site, dt tensor.Dtype, err error) {
	if h.Centres < 0 || h.Centres > h.Cached {
		return at, dt, fmt.Errorf("%d centres among %d rows, expected at most as many", h.Centres, h.Cached)
	}
	if h.Layer < 1 || h.Cached < 1 || h.Neighbours < 1 {
		return at, dt, fmt.Errorf("layer %d, %d rows and %d neighbours, expected at least 1", h.Layer, h.Cached, h.Neighbours)
	}
	err = gp.CheckPositive(gp.Fact{Name: "length-scale", Value: h.Length}, gp.Fact{Name: "relative noise", Value: h.Noise}, gp.Fact{Name: "factor", Value: h.Factor})
	if err != nil {
		return at, dt, err
	}
	if dt, _, err = gp.CheckInputs(net, h.Inputs, 0); err != nil {
		return at, dt, err
	}
	at, _, err = siteOf(net, h.Inputs, dt, h.Layer)
	return at, dt, err
}
