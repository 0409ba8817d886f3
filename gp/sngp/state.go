package sngp

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Inputs        []int          `json:"inputs"`                  // the shape of one
	Features      int            `json:"features"`                // m
	FeatureScale  float64        `json:"feature_scale"`           // factor a of the features
	LayerNorm     bool           `json:"layer_norm,omitempty"`    // a layer norm stands before the features
	Covariance    string         `json:"covariance"`              // its form
	Ridge         float64        `json:"ridge"`                   // ridge s of the precision of β
	Probabilities *probabilities `json:"probabilities,omitempty"` // of classes
}

const (
	// prefix begins the names of the network's arrays.
	prefix     = "sngp.network."
	nameFactor = "sngp.factor"
)

// State implements gp.Stored: the network's own weights, the head and the Cholesky factors of
// the precision of β.
func (p *posterior) State() (gp.State, error) {
	h := header{
		Inputs: p.net.input, Features: p.head.Size(), FeatureScale: p.head.Scale, LayerNorm: p.head.Gain != nil,
		Covariance: p.cov.Form, Ridge: p.cov.Ridge, Probabilities: p.probs,
	}
	s := gp.State{Header: h, Arrays: []gp.Array{{Name: nameFactor, Value: dense.Of(p.cov.factors, p.cov.shape()...)}}}
	for _, q := range append([]*graph.Param{p.head.W, p.head.Phase}, p.head.Trained()...) {
		s.Arrays = append(s.Arrays, gp.Array{Name: q.Name, Value: q.Value})
	}
	for _, q := range layers.Arrays(p.weights) {
		s.Arrays = append(s.Arrays, gp.Array{Name: prefix + q.Name, Value: q.Value})
	}
	return s, nil
}

// restore makes a posterior of what its State returned. The network gives the structure only.
func restore(_ context.Context, net layers.Network, l likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	_, _, err := gp.CheckInputs(net, h.Inputs, 0)
	if err = cmp.Or(err, h.check(likelihood.IsClass(l))); err != nil {
		return nil, fmt.Errorf("sngp: %w", err)
	}
	n, err := newNetwork(net, h.Inputs)
	if err != nil {
		return nil, err
	}
	p := &posterior{net: n, weights: layers.NewCopy(n.hidden), probs: h.Probabilities, limit: gp.Run{}.Limit() / 4}
	p.cov = &covariance{Form: h.Covariance, Ridge: h.Ridge, Features: h.Features, Outputs: n.output}
	r := &gp.Reader{Saved: s}
	for _, q := range layers.Arrays(p.weights) {
		q.Value = r.Read(prefix+q.Name, n.dt, q.Value.Shape()...)
	}
	p.head, p.cov.factors = h.head(n, r), r.Floats(nameFactor, p.cov.shape()...)
	return gp.Restored(p, cmp.Or(r.Err, p.cov.check()))
}

// head reads the head. Nothing is allocated that the file does not have.
func (h *header) head(n *network, r *gp.Reader) *head {
	read := func(name string, shape ...int) *graph.Param { return r.Param(name, n.dt, shape...) }
	head := &head{Scale: h.FeatureScale, W: read(nameW, n.units, h.Features), Phase: read(namePhase, h.Features), Beta: read(nameBeta, h.Features, n.output)}
	if h.LayerNorm {
		head.Gain, head.Shift = read(nameGain, n.units), read(nameShift, n.units)
	}
	return head
}

// check refuses what no fit writes.
func (h *header) check(classes bool) error {
	p := h.Probabilities
	positive := func(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
	switch {
	case h.Features < 1 || h.Features > maxFeatures:
		return fmt.Errorf("%d features, expected 1 to %d", h.Features, maxFeatures)
	case !positive(h.FeatureScale) || !positive(h.Ridge):
		return fmt.Errorf("feature scale %g and ridge %g, expected positive numbers", h.FeatureScale, h.Ridge)
	case h.Covariance != formShared && h.Covariance != formPerClass && h.Covariance != formJoint:
		return fmt.Errorf("covariance %q, expected %s, %s or %s", h.Covariance, formShared, formPerClass, formJoint)
	case classes != (p != nil):
		return fmt.Errorf("probabilities of classes: %t, expected %t", p != nil, classes)
	case p == nil:
	case p.Link == linkMeanField && p.Lambda >= 0 && !math.IsInf(p.Lambda, 0):
	case p.Link == linkSamples && p.Samples > 0 && p.Samples <= maxSize:
	default:
		return fmt.Errorf("probabilities %+v, expected %s or %s", *p, linkMeanField, linkSamples)
	}
	return nil
}

// maxFeatures and maxSize bound what a file may say, so that sizes made from it do not overflow.
const (
	maxFeatures = 1 << 20
	maxSize     = 1 << 20
)

// check refuses factors whose diagonal is not positive, which no fit writes.
func (c *covariance) check() error {
	order := c.shape()[1]
	for i := range len(c.factors) / order {
		if v := c.factors[i*order+i%order]; !(v > 0) {
			return fmt.Errorf("sngp: diagonal element %d of the factor is %g, expected a positive number", i, v)
		}
	}
	return nil
}
