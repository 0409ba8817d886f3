package sfr

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// duals are the dual parameters of examples.
type duals struct {
	x      *tensor.Dense         // [N,…]
	y      []float64             // targets [N,W·C]
	lik    likelihood.Likelihood // of the targets, without its noise
	g      []float64             // the network's outputs [N,C]
	linear []float64             // α + Λ g [N,C], with the diagonal of Λ where outputs are separate
	beta   []float64             // the diagonal of Λ [N,C]; nil with joint outputs
}

// newDuals computes the dual parameters of the training examples of p. The noise variance of lik
// counts; clip is ε. The slope of a noise that is not Gaussian is not in proportion to its variance:
// α is the slope for the noise of p, in the units of lik.
func newDuals(ctx context.Context, p gp.Problem, lik likelihood.Likelihood, joint bool, clip float64) (*duals, error) {
	g, err := gp.Point{Net: p.Net, Dtype: p.Dtype()}.Mean(ctx, p.Train.X)
	if err != nil {
		return nil, fmt.Errorf("sfr: %w", err)
	}
	n, c := p.Train.N(), p.Outputs()
	if s := g.Shape(); s[1] != c {
		return nil, fmt.Errorf("sfr: the network has %d outputs, the targets need %d", s[1], c)
	}
	d := &duals{x: p.Train.X, y: graph.Floats(p.Train.Y), lik: lik, g: g.Float64s(), linear: make([]float64, n*c)}
	if i, v := kernel.FirstNonFinite(d.g); i >= 0 {
		return nil, fmt.Errorf("sfr: the network's output %d at example %d is %g", i%c, i/c, v)
	}
	if !joint {
		d.beta = make([]float64, n*c)
	}
	slope, factor := lik, 1.0
	if likelihood.Noisy(lik) && !likelihood.IsGaussian(lik) {
		slope, factor = p.Likelihood, likelihood.NoiseVariance(p.Likelihood)/likelihood.NoiseVariance(lik)
	}
	y, w, lambda := d.y, lik.Width(), make([]float64, c*c)
	for at := 0; at < n*c; at += c {
		f, linear := d.g[at:at+c], d.linear[at:at+c]
		slope.Gradient(linear, y[at*w:(at+c)*w], f)
		kernel.Scale(linear, factor, linear)
		likelihood.CurvatureOf(lik, lambda, y[at*w:(at+c)*w], f)
		if joint {
			kernel.Gemm(false, false, c, 1, c, 1, lambda, c, f, 1, 1, linear, 1)
			continue
		}
		for j := range c {
			d.beta[at+j] = max(lambda[j*c+j], clip*(1-clip)) // of p(1 − p) with p from ε to 1 − ε
			linear[j] += d.beta[at+j] * f[j]
		}
	}
	return d, nil
}

// addTo adds the examples to the system of a part. done is called after each batch with the
// number of examples so far.
func (d *duals) addTo(ctx context.Context, k *kernels, part int, s *system, done func(int)) error {
	o, first := k.width(), k.first(part)
	err := k.each(ctx, part, d.x, func(v values) error {
		s.whiten(v.cross)
		linear := make([]float64, v.n*o)
		for i := range linear {
			linear[i] = d.linear[(v.first+i/o)*k.outputs+first+i%o]
		}
		s.addLinear(v.cross, linear)
		if k.joint {
			w, lo, hi := d.lik.Width(), v.first*o, (v.first+v.n)*o
			likelihood.RootRows(d.lik, d.y[lo*w:hi*w], d.g[lo:hi], v.cross, o)
		} else {
			for i := range v.n {
				row := v.cross[i*s.m : (i+1)*s.m]
				kernel.Scale(row, math.Sqrt(d.beta[(v.first+i)*k.outputs+first]), row)
			}
		}
		if err := s.add(v.cross); err != nil {
			return err
		}
		done(v.first + v.n)
		return nil
	})
	return fault.In("sfr: training rows", err)
}
