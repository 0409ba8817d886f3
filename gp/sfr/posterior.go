package sfr

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// posterior is a fitted SFR. Its covariance is the latent function's, without noise, in float64.
// Several goroutines may call its methods; the network runs for one goroutine at a time.
type posterior struct {
	net     layers.Network // the network g
	points  *tensor.Dense  // z [M,…]
	outputs int            // C
	joint   bool           // all outputs are one Gaussian process
	own     bool           // the mean is SFR's own
	prior   float64        // σ₀
	clip    float64        // ε
	noise   float64        // σ² of the targets, by which the sums are divided; 0: they have none, or an older file does not say
	limit   int64          // bytes

	mu      sync.Mutex // guards systems and kernels
	systems []*system  // by part
	kernels *kernels   // nil before the first prediction of a restored posterior
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
	_ gp.Updater        = (*posterior)(nil)
	_ gp.OwnMean        = (*posterior)(nil)
)

// Points returns the inputs [M,…] of the inducing variables. They are not to be changed.
func (p *posterior) Points() *tensor.Dense { return p.points }

// OwnMean implements gp.OwnMean.
func (p *posterior) OwnMean() string {
	if !p.own {
		return ""
	}
	return "Predictions have SFR's own mean, which is not the network's output."
}

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.points.Shape()[0], p.own, p.joint) }

// sizes returns the number of parts and the number of inducing variables of each part.
func (p *posterior) sizes() (parts, m int) {
	if p.joint {
		return 1, p.points.Shape()[0] * p.outputs
	}
	return p.outputs, p.points.Shape()[0]
}

// bytes is the memory of the systems, and of one eigenvalue problem.
func (p *posterior) bytes() int64 {
	parts, m := p.sizes()
	return gp.Numbers(3*parts+4, m, m)
}

// compile compiles the kernels. The kernels and the systems together take at most limit bytes.
func (p *posterior) compile(limit int64) (err error) {
	if need := p.bytes(); need > limit {
		return &graph.MemoryError{What: "sfr: " + p.String(), Need: need, Limit: max(0, limit)}
	}
	p.kernels, err = newKernels(p.net, p.points, p.outputs, p.joint, limit-p.bytes())
	return err
}

// factored returns the system of a part without data.
func (p *posterior) factored(ctx context.Context, part int) (*system, error) {
	gram, err := p.kernels.gram(ctx, part)
	if err != nil {
		return nil, fmt.Errorf("sfr: the kernel among the points: %w", err)
	}
	s, err := newSystem(p.kernels.size(), gram)
	return s, fault.In("sfr", err)
}

// solve prepares the systems for predictions, and returns how many parameters the data
// determine.
func (p *posterior) solve() (effective float64, err error) {
	for _, s := range p.systems {
		e, err := s.solve(p.prior * p.prior)
		if err != nil {
			return 0, fmt.Errorf("sfr: %w", err)
		}
		effective += e
	}
	return effective, nil
}

// jitter is the largest of the systems.
func (p *posterior) jitter() (most float64) {
	for _, s := range p.systems {
		most = max(most, s.jitter)
	}
	return most
}

// prepare makes a restored posterior ready for predictions: its kernels, and factors of the
// kernel among the points.
func (p *posterior) prepare(ctx context.Context) error {
	if p.kernels != nil {
		return nil
	}
	if err := p.compile(p.limit); err != nil {
		return err
	}
	err := p.refactor(ctx)
	if err == nil {
		_, err = p.solve()
	}
	if err != nil {
		p.kernels = nil
	}
	return err
}

// refactor computes the factors of restored systems.
func (p *posterior) refactor(ctx context.Context) error {
	for part, s := range p.systems {
		empty, err := p.factored(ctx, part)
		if err != nil {
			return err
		}
		s.r, s.jitter = empty.r, empty.jitter
	}
	return nil
}

// place writes the mean and the covariances of a part to their places.
func (p *posterior) place(r *room, part int, v values, mean, cov []float64) error {
	m, err := p.systems[part].covariances(r, v, p.prior*p.prior)
	if err != nil {
		return err
	}
	if !p.own {
		m = v.mean
	}
	first, o, c := p.kernels.first(part), p.kernels.width(), p.outputs
	for i := range m {
		at := (v.first+i/o)*c + first + i%o
		mean[at] = m[i]
		copy(cov[at*c+first:], v.diag[i*o:(i+1)*o])
	}
	return nil
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance
// [N·C, N·C]. It returns a *graph.MemoryError where the covariance exceeds the limit.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(ctx); err != nil {
		return nil, nil, err
	}
	if err := p.kernels.check(x); err != nil {
		return nil, nil, fmt.Errorf("sfr: joint prediction: %w", err)
	}
	all := x.Shape()[0] * p.outputs
	if need := 3 * 8 * int64(all) * int64(all); need > p.limit {
		return nil, nil, &graph.MemoryError{What: "sfr: the joint covariance", Need: need, Limit: p.limit}
	}
	m, k := make([]float64, all), make([]float64, all*all)
	for part, s := range p.systems {
		if err := p.joinPart(ctx, x, part, s, m, k); err != nil {
			return nil, nil, fmt.Errorf("sfr: joint prediction: %w", err)
		}
	}
	return dense.Of(m, all), dense.Of(k, all, all), nil
}

// joinPart writes the mean and the covariance of one part to their places.
func (p *posterior) joinPart(ctx context.Context, x *tensor.Dense, part int, s *system, mean, cov []float64) error {
	var rows []float64
	o, first, all := p.kernels.width(), p.kernels.first(part), len(mean)
	place := func(i int) int { return i/o*p.outputs + first + i%o }
	err := p.kernels.each(ctx, part, x, func(v values) error {
		m, w := s.gain(v.cross)
		if !p.own {
			m = v.mean
		}
		for i, f := range m {
			mean[place(v.first*o+i)] = f
		}
		rows = append(rows, w...)
		return nil
	})
	if err != nil {
		return err
	}
	k, err := p.kernels.among(part, x)
	if err != nil {
		return err
	}
	n := len(rows) / s.m
	kernel.Syrk(false, n, s.m, -1, rows, s.m, 1, k, n)
	for i := range n {
		for j := range n {
			cov[place(i)*all+place(j)] = p.prior * p.prior * k[i*n+j]
		}
	}
	return nil
}

// Update implements gp.Updater, exactly: the sums over the new rows are added to the sums of the fit. The
// points, σ₀, and the noise stay.
func (p *posterior) Update(ctx context.Context, more gp.Problem, r gp.Run) (gp.Stored, error) {
	if err := more.Check(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.prepare(ctx); err != nil {
		return nil, err
	}
	lik := more.Likelihood
	if p.noise > 0 {
		lik = likelihood.WithNoise(lik, p.noise)
	}
	d, err := newDuals(ctx, more, lik, p.joint, p.clip)
	if err != nil {
		return nil, err
	}
	q := &posterior{
		net: p.net, points: p.points, outputs: p.outputs, joint: p.joint, own: p.own,
		prior: p.prior, clip: p.clip, noise: p.noise, limit: cmp.Or(r.Memory, p.limit),
	}
	if err := q.compile(q.limit); err != nil {
		return nil, err
	}
	for part, s := range p.systems {
		s := s.clone()
		if err := d.addTo(ctx, q.kernels, part, s, reporter(r, more.Train.N(), part, len(p.systems))); err != nil {
			return nil, err
		}
		q.systems = append(q.systems, s)
	}
	if _, err := q.solve(); err != nil {
		return nil, err
	}
	return q, nil
}
