package ella

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/internal/along"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior is a fitted ELLA. Its mean is the network; its covariance φ (G + I/σ₀²)⁻¹ φᵀ is
// the covariance of the latent function, without noise, in float64.
type posterior struct {
	along.Posterior           // with the root R Rᵀ = (G + share·I/σ₀²)⁻¹
	g               []float64 // G [K,K]
	prior           float64   // σ₀
	share           float64   // of the training rows, by which 1/σ₀² is multiplied
	points          int       // M
	at              points    // none where the posterior was restored
	precision       precision // G + share·I/σ₀² in the coordinates of G
}

// inDirections returns the predictions of a posterior along the directions v [K,P], without a root.
func inDirections(net layers.Network, input tensor.Shape, v *tensor.Dense, limit int64) along.Posterior {
	return along.Posterior{Name: "ella", Net: net, Input: input, V: v, Scale: 1, Limit: limit}
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
	_ gp.Updater        = (*posterior)(nil)
)

// finish computes what predictions need of G and σ₀.
func (p *posterior) finish() error {
	var err error
	if p.precision, err = newPrecision(p.Rank(), p.g); err != nil {
		return fmt.Errorf("ella: eigenvalues of G: %w", err)
	}
	p.Root = p.precision.root(p.prior, p.share)
	return nil
}

// Points returns the inputs z [M,…] among whose Jacobians the directions were found, and the one
// output that each input carries [M]. Both are nil where the posterior was restored. The caller
// must not change them.
func (p *posterior) Points() (z *tensor.Dense, output []int) { return p.at.z, p.at.output }

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.points) }
