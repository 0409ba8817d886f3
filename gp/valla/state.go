package valla

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The names of a layer's parameters, in files too.
const (
	nameZ           = "valla.z"
	nameL           = "valla.l"
	nameLogPriorStd = "valla.log_prior_std"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Inducing int      `json:"inducing"`          // number M of inducing points
	Class    []int    `json:"class,omitempty"`   // nil: output 0 for all points
	Inputs   []int    `json:"inputs,omitempty"`  // the shape of one input; older files lack it
	Weights  []string `json:"weights,omitempty"` // names of the uncertain parameters; none: all
	// Scatter is the mean variance ν of the training targets where there is a matrix L₀ for
	// the epistemic part of the variance, see split.
	Scatter float64 `json:"scatter,omitempty"`
	// Additive says that A is a sum over rows, see Update.
	Additive bool `json:"additive,omitempty"`
	// Likeliest is the number of classes of which predictions compute the covariances; 0: all.
	Likeliest int `json:"likeliest,omitempty"`
}

// State implements gp.Stored: Z [M,…], the lower triangle of L, packed row by row
// [M(M+1)/2], log σ₀ [1] and, where noise may have gone into the variance, the lower triangle
// of L₀.
func (p *posterior) State() (gp.State, error) {
	l := p.layer
	h := header{Inducing: l.Inducing(), Inputs: l.Z.Value.Shape()[1:].Clone(), Additive: p.additive, Likeliest: p.likeliest}
	if part, ok := p.net.(layers.Part); ok {
		h.Weights = layers.Names(part.Chosen)
	}
	if slices.Max(l.Class) > 0 {
		h.Class = slices.Clone(l.Class)
	}
	params := l.Params()
	if p.evidence != nil {
		h.Scatter, params = p.scatter, append(params, p.evidence)
	}
	s := gp.State{Header: h}
	for _, q := range params {
		s.Arrays = append(s.Arrays, gp.Array{Name: q.Name, Value: q.Value})
	}
	return s, nil
}

// String implements gp.Stored.
func (p *posterior) String() string { return fmt.Sprintf("VaLLA %d", p.layer.Inducing()) }

// InducingInputs returns the inducing inputs [M,…] as they were before the fit, nil
// where the posterior was restored, and as they are now. They are not to be changed.
func (p *posterior) InducingInputs() (start, now *tensor.Dense) { return p.start, p.layer.Z.Value }

// restore puts a posterior on a network from what its State returned. Inducing inputs
// that the network does not take and outputs that it does not have are errors.
func restore(_ context.Context, net layers.Network, lik likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	net, err := chosen(net, h.Weights)
	if err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	dt, inputs, err := h.inputs(net)
	if err = cmp.Or(err, gp.CheckLikeliest(h.Likeliest, lik)); err != nil {
		return nil, fmt.Errorf("valla: %w", err)
	}
	r := &gp.Reader{Saved: s}
	z := r.Read(nameZ, dt, append([]int{h.Inducing}, inputs...)...)
	l, prior := r.Read(nameL, dt, dense.Packed(h.Inducing)), r.Read(nameLogPriorStd, dt, 1)
	if r.Err != nil {
		return nil, r.Err
	}
	layer, err := layerOf(jacobian.NTK{Net: net}, z, h.Class, l, prior)
	if err != nil {
		return nil, err
	}
	p := newPosterior(net, layer)
	p.additive, p.likeliest = h.Additive, h.Likeliest
	if h.Scatter != 0 {
		if !(h.Scatter > 0) {
			return nil, fmt.Errorf("valla: targets with the variance %g, expected a positive number", h.Scatter)
		}
		p.evidence, p.scatter = r.Param(nameSplit, dt, dense.Packed(h.Inducing)), h.Scatter
	}
	return gp.Restored(p, r.Err)
}

// maxInducing bounds what a header may say, so that sizes made from it do not overflow.
const maxInducing = math.MaxInt32

// inputs returns the network's element type and the shape of one input. Files that do
// not say it hold a network of dense layers. Inducing points that the network cannot have are errors.
func (h *header) inputs(net layers.Network) (dt tensor.Dtype, inputs []int, err error) {
	if inputs = h.Inputs; inputs == nil && len(net.Params()) > 0 {
		inputs = net.Params()[0].Value.Shape()[:1]
	}
	if h.Inducing < 1 || h.Inducing > maxInducing {
		return dt, nil, fmt.Errorf("%d inducing points, expected from 1 to %d", h.Inducing, maxInducing)
	}
	dt, c, err := gp.CheckInputs(net, inputs, 0)
	for i, k := range h.Class {
		if err == nil && k >= c {
			err = fmt.Errorf("class[%d] is %d, the network has %d outputs", i, k, c)
		}
	}
	if err == nil && (h.Likeliest < 0 || h.Likeliest >= max(c, 1)) {
		err = fmt.Errorf("%d likeliest classes, the network has %d outputs", h.Likeliest, c)
	}
	return dt, inputs, err
}
