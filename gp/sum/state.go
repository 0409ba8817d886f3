package sum

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gapa"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
)

// header is what a file says of a posterior beside the arrays of its terms.
type header struct {
	VaLLA  json.RawMessage `json:"valla"`                    // header of VaLLA
	GAPA   json.RawMessage `json:"gapa"`                     // header of GAPA
	First  float64         `json:"valla_factor"`             // factor of VaLLA's covariance
	Second float64         `json:"gapa_factor"`              // factor of GAPA's covariance
	Noise  float64         `json:"noise_variance,omitempty"` // see gp.Scatter; 0 without noise
}

// State implements gp.Stored: the states of VaLLA and of GAPA.
func (p *posterior) State() (s gp.State, err error) {
	h := header{First: p.terms[0].factor, Second: p.terms[1].factor, Noise: p.noise}
	if h.VaLLA, err = s.Add(p.terms[0], ""); err == nil {
		h.GAPA, err = s.Add(p.terms[1], "")
	}
	s.Header = h
	return s, err
}

// restore puts a posterior on a network from what its State returned.
func restore(ctx context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	for i, v := range []float64{h.First, h.Second, h.Noise} {
		if !(v >= 0) || !kernel.Finite(v) {
			what := []string{"factor of VaLLA", "factor of GAPA", "noise variance"}[i]
			return nil, fmt.Errorf("valla+gapa: %s %g, expected a finite number that is not negative", what, v)
		}
	}
	first, err := valla.Method.Restore(ctx, net, l, gp.SavedPart(s, h.VaLLA, ""))
	if err != nil {
		return nil, err
	}
	second, err := gapa.Method.Restore(ctx, net, l, gp.SavedPart(s, h.GAPA, ""))
	return gp.Restored(&posterior{terms: []term{{first, h.First}, {second, h.Second}}, noise: h.Noise}, err)
}
