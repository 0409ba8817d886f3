package moe

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Posterior is a fitted MoE LLA. Its mean is the network; its covariance at an input is that of
// the expert that answers there, without noise, in float64. It may be used by several
// goroutines.
type Posterior struct {
	net     layers.Network
	gate    *gate
	experts []*laplace.Posterior
	outputs int // C
	asked   int // number of experts that the settings asked for; 0 for the default
}

var _ gp.Stored = (*Posterior)(nil)

// Experts returns E.
func (p *Posterior) Experts() int { return len(p.experts) }

// String implements gp.Stored.
func (p *Posterior) String() string { return label(p.asked) }

// Labels returns the number of the expert that answers at each of the inputs x [N,…].
func (p *Posterior) Labels(ctx context.Context, x *tensor.Dense) ([]int, error) {
	if err := p.check(x); err != nil {
		return nil, err
	}
	return p.gate.labels(ctx, x)
}

// check compares inputs with those of the fit.
func (p *Posterior) check(x *tensor.Dense) error {
	want := p.experts[0].Header().Input
	dt := p.net.Params()[0].Value.Dtype()
	if s := x.Shape(); x.Dtype() != dt || len(s) < 2 || s[0] < 1 || !s[1:].Eq(tensor.Shape(want)) {
		return fmt.Errorf("moe: inputs are %v of shape %v, expected %v of shape [N,…], N ≥ 1, with %v for each", x.Dtype(), s, dt, want)
	}
	return plain(x)
}

// plain refuses inputs that are no plain array.
func plain(x *tensor.Dense) error {
	if x.RequiresIterator() || x.DataOrder().IsColMajor() {
		return fmt.Errorf("moe: inputs of shape %v are not contiguous and row-major", x.Shape())
	}
	return nil
}
