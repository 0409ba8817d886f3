package moe

import (
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior is a fitted MoE LLA. Its mean is the network. Its covariance at an input is the
// covariance of the expert that answers there, without noise, in float64. Several goroutines may
// use a posterior.
type posterior struct {
	net     layers.Network // the network g
	gate    *gate          // says which expert answers
	experts []gp.Stored    // posteriors of laplace
	input   tensor.Shape   // of one example
	outputs int            // C
	asked   int            // number of experts that the settings asked for; 0 for the default
}

var _ gp.Stored = (*posterior)(nil)

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.asked) }
