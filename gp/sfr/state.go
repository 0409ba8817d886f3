package sfr

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The names of a posterior's arrays in a file.
const (
	nameZ = "sfr.z"
	nameT = "sfr.t"
	nameB = "sfr.b"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Points   int     `json:"points"`                   // M
	Inputs   []int   `json:"inputs"`                   // the shape of one
	Outputs  int     `json:"outputs"`                  // C
	Joint    bool    `json:"joint,omitempty"`          // all outputs are one Gaussian process
	Own      bool    `json:"own_mean,omitempty"`       // the mean is SFR's own
	Clip     float64 `json:"clip,omitempty"`           // ε
	PriorStd float64 `json:"prior_std"`                // σ₀
	Noise    float64 `json:"noise_variance,omitempty"` // σ², see posterior
}

// State implements gp.Stored: the points z [M,…] and for each Gaussian process the lower
// triangle of T [M(M+1)/2] and b [M], one after the other.
func (p *posterior) State() (gp.State, error) {
	var t, b []float64
	for _, s := range p.systems {
		t, b = append(t, dense.PackLower(s.m, s.t)...), append(b, s.b...)
	}
	parts, m := p.sizes()
	return gp.State{
		Header: header{
			Points: p.points.Shape()[0], Inputs: p.points.Shape()[1:].Clone(), Outputs: p.outputs,
			Joint: p.joint, Own: p.own, Clip: p.clip, PriorStd: p.prior, Noise: p.noise,
		},
		Arrays: []gp.Array{
			{Name: nameZ, Value: p.points}, {Name: nameT, Value: dense.Of(t, parts, dense.Packed(m))}, {Name: nameB, Value: dense.Of(b, parts, m)},
		},
	}, nil
}

// restore puts a posterior on a network from what its State returned. Points that the network
// does not take and outputs that it does not have are errors.
func restore(_ context.Context, net layers.Network, _ likelihood.Likelihood, saved gp.Saved) (gp.Stored, error) {
	var h header
	if err := saved.Header(&h); err != nil {
		return nil, err
	}
	dt, err := h.check(net)
	if err != nil {
		return nil, fmt.Errorf("sfr: %w", err)
	}
	p := &posterior{net: net, outputs: h.Outputs, joint: h.Joint, own: h.Own, clip: h.Clip, noise: h.Noise, prior: h.PriorStd, limit: gp.Run{}.Limit()}
	r := &gp.Reader{Saved: saved}
	if p.points = r.Read(nameZ, dt, append([]int{h.Points}, h.Inputs...)...); r.Err != nil {
		return nil, r.Err
	}
	parts, m := p.sizes()
	t, b := r.Floats(nameT, parts, dense.Packed(m)), r.Floats(nameB, parts, m)
	if r.Err != nil {
		return nil, r.Err
	}
	for part := range parts {
		s := &system{m: m, b: b[part*m : (part+1)*m], t: dense.UnpackLower(m, t[part*dense.Packed(m):])}
		kernel.CopyLower(m, s.t, m)
		p.systems = append(p.systems, s)
	}
	p.limit = max(p.limit, 2*p.bytes())
	return p, nil
}

// check returns the network's element type. It refuses numbers that no fit can have, inputs that the
// network does not take and outputs that it does not have.
func (h *header) check(net layers.Network) (dt tensor.Dtype, err error) {
	switch {
	case h.Points < 1 || h.Outputs < 1 || h.Points > math.MaxInt32/h.Outputs:
		return dt, fmt.Errorf("%d points of %d outputs, expected positive numbers", h.Points, h.Outputs)
	case !(h.Noise >= 0 && kernel.Finite(h.Noise)):
		return dt, fmt.Errorf("the noise variance %g, expected a number from 0 on", h.Noise)
	case !(h.Clip >= 0 && h.Clip < 0.5):
		return dt, fmt.Errorf("clip %g, expected a number from 0 to below 0.5", h.Clip)
	}
	if err := gp.CheckPositive(gp.Fact{Name: "prior standard deviation", Value: h.PriorStd}); err != nil {
		return dt, err
	}
	dt, _, err = gp.CheckInputs(net, h.Inputs, h.Outputs)
	return dt, err
}
