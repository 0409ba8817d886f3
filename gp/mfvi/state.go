package mfvi

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// The names of a posterior's arrays in a file.
const (
	nameMean  = "mfvi.mean"
	nameStd   = "mfvi.log_std"
	nameState = "mfvi.state"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Inputs  []int  `json:"inputs"`            // the shape of one
	Outputs int    `json:"outputs"`           // number C of outputs
	Samples int    `json:"samples"`           // number K of draws
	Seed    uint64 `json:"seed"`              // of the draws
	Certain bool   `json:"certain,omitempty"` // the control without noise
}

// member is an array of a file.
type member struct {
	name string         // in the file
	of   []*graph.Param // what it holds, one after the other
}

// members lists the arrays of a file.
func (p *posterior) members() []member {
	return []member{{nameMean, p.means.Params()}, {nameStd, p.stds}, {nameState, p.means.State()}}
}

// State implements gp.Stored: μ [P], ψ [P] and the running statistics [S], where there are such,
// each in the order of the network's arrays.
func (p *posterior) State() (gp.State, error) {
	s := gp.State{Header: header{Inputs: p.input.Clone(), Outputs: p.outputs, Samples: p.samples, Seed: p.seed, Certain: p.stds == nil}}
	for _, a := range p.members() {
		if v := graph.Flat(a.of); len(v) > 0 {
			s.Arrays = append(s.Arrays, gp.Array{Name: a.name, Value: graph.Convert(dense.Of(v, len(v)), p.dtype())})
		}
	}
	return s, nil
}

// restore puts a posterior on a network from what its State returned.
func restore(_ context.Context, net layers.Network, l likelihood.Likelihood, saved gp.Saved) (gp.Stored, error) {
	var h header
	if err := saved.Header(&h); err != nil {
		return nil, err
	}
	dt, err := h.check(net)
	if err != nil {
		return nil, fmt.Errorf("mfvi: %w", err)
	}
	p := &posterior{net: net, input: h.Inputs, outputs: h.Outputs, classes: likelihood.IsClass(l), means: layers.NewCopy(net), samples: h.Samples, seed: h.Seed, limit: gp.Run{}.Limit()}
	if !h.Certain {
		p.stds = layers.NewCopy(net).Params()
	}
	r := &gp.Reader{Saved: saved}
	for _, a := range p.members() {
		if n := len(graph.Flat(a.of)); n > 0 {
			if v := r.Read(a.name, dt, n); r.Err == nil {
				graph.Unflat(a.of, graph.Floats(v))
			}
		}
	}
	return gp.Restored(p, r.Err)
}

// maxSamples bounds the draws of a file.
const maxSamples = 1_000_000

// check returns the network's element type. It refuses numbers that no fit can have, inputs that the
// network does not take and outputs that it does not have.
func (h *header) check(net layers.Network) (dt tensor.Dtype, err error) {
	if h.Outputs < 1 || h.Samples < 1 || h.Samples > maxSamples || h.Certain && h.Samples != 1 {
		return dt, fmt.Errorf("%d outputs and %d draws (certain: %t), expected positive numbers", h.Outputs, h.Samples, h.Certain)
	}
	dt, _, err = gp.CheckInputs(net, h.Inputs, h.Outputs)
	return dt, err
}
