package fmgp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// header is what a file says of a posterior beside its arrays.
type header struct {
	Class   []int   `json:"class"`             // of each inducing point
	Inputs  []int   `json:"inputs"`            // the shape of one
	Kernel  string  `json:"kernel"`            // rbf or embedding
	Scatter float64 `json:"scatter,omitempty"` // ν, where there is an array P, see split
}

// State implements gp.Stored: Z [M, D+E], the lower triangle of L, packed row by row, the
// kernel's parameters and, where noise may have gone into the variance, P [M,M].
func (p *posterior) State() (gp.State, error) {
	k := p.layer.Kernel
	h := header{Class: slices.Clone(p.layer.Class), Inputs: p.input.Clone(), Kernel: kernelRBF}
	if k.Features > 0 {
		h.Kernel = kernelEmbedding
	}
	params := append([]*graph.Param{p.layer.Z, p.layer.L}, k.Params()...)
	if p.known != nil {
		h.Scatter, params = p.scatter, append(params, p.known)
	}
	s := gp.State{Header: h}
	for _, q := range params {
		s.Arrays = append(s.Arrays, gp.Array{Name: q.Name, Value: q.Value})
	}
	return s, nil
}

// restore puts a posterior on a network from what its State returned. Inputs that the network
// does not take and outputs that it does not have are errors.
func restore(_ context.Context, net layers.Network, _ likelihood.Likelihood, s gp.Saved) (gp.Stored, error) {
	var h header
	if err := s.Header(&h); err != nil {
		return nil, err
	}
	dt, c, err := gp.CheckInputs(net, h.Inputs, 0)
	if err = cmp.Or(err, h.check()); err != nil {
		return nil, fmt.Errorf("fmgp: %w", err)
	}
	r, m := &gp.Reader{Saved: s}, len(h.Class)
	k, err := h.restoreKernel(net, dt, c, r)
	if err != nil {
		return nil, err
	}
	z := r.Read(nameZ, dt, m, k.Width())
	if r.Err != nil {
		return nil, r.Err
	}
	p := &posterior{net: net, input: h.Inputs, limit: gp.Run{}.Limit() / 4}
	if p.layer, err = newSparseGP(k, z, h.Class); err != nil {
		return nil, err
	}
	p.layer.L = r.Param(nameL, dt, dense.Packed(m))
	if h.Scatter != 0 {
		p.known, p.scatter = r.Param(nameKnown, tensor.Float64, m, m), h.Scatter
	}
	return gp.Restored(p, r.Err)
}

// restoreKernel reads the kernel of a network with so many outputs. Nothing is compiled, and nothing allocated that
// the file does not have.
func (h *header) restoreKernel(net layers.Network, dt tensor.Dtype, outputs int, r *gp.Reader) (*covariance, error) {
	b := graph.NewBuilder(dt)
	out := writeNetwork(b, net, b.Input("x", append([]int{1}, h.Inputs...)...), h.Kernel == kernelEmbedding)
	if err := b.Err(); err != nil {
		return nil, fmt.Errorf("fmgp: inputs of shape %v: %w", h.Inputs, err)
	}
	k := &covariance{Inputs: tensor.Shape(h.Inputs).TotalSize(), Outputs: outputs}
	if len(out) > 1 {
		k.Features = out[1].Shape()[1]
	}
	k.LogLength, k.LogAmplitude = r.Param(nameLogLength, dt, k.Inputs), r.Param(nameLogAmplitude, dt, 1)
	if k.Outputs > 1 {
		k.R = r.Param(nameR, dt, dense.Packed(k.Outputs))
	}
	return k, r.Err
}

// check refuses what no fit writes.
func (h *header) check() error {
	switch {
	case len(h.Class) == 0:
		return fmt.Errorf("no inducing points, expected at least one")
	case h.Kernel != kernelRBF && h.Kernel != kernelEmbedding:
		return fmt.Errorf("kernel %q, expected %s or %s", h.Kernel, kernelRBF, kernelEmbedding)
	case !(h.Scatter >= 0) || math.IsInf(h.Scatter, 0):
		return fmt.Errorf("targets with the variance %g, expected a finite number that is not negative", h.Scatter)
	}
	return nil
}
