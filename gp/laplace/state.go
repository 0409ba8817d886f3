package laplace

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// State is, with the network and the arrays beside it, all of a Posterior, for files.
type State struct {
	Weights    []string   `json:"weights"` // names of the uncertain parameters
	Structure  Structure  `json:"structure"`
	Space      Space      `json:"space"` // of the structure Full
	Likelihood Likelihood `json:"likelihood"`
	Priors     Priors     `json:"priors"`
	PriorStds  []float64  `json:"prior_stds"`
	NoiseStd   float64    `json:"noise_std"` // 0 with softmax

	Rank     int   `json:"rank,omitempty"` // of the structure LowRank
	Examples int   `json:"examples"`
	Input    []int `json:"input"` // shape of one
	Outputs  int   `json:"outputs"`
	Batch    int   `json:"batch"`        // on which the last bits depend
	Limit    int64 `json:"memory_limit"` // bytes

	Residuals     float64 `json:"squared_residuals"`
	LogLikelihood float64 `json:"log_likelihood"`
}

// Array is a part of a Posterior, float64.
type Array struct {
	Name  string
	Value *tensor.Dense
}

// maxStateBatch bounds what the batch of a state may take.
const maxStateBatch = 4096

// State returns what Restore makes the posterior of again, with the Arrays.
func (p *Posterior) State() State {
	s := State{
		Structure: Full, Likelihood: p.evidence.likelihood, Priors: p.priors,
		PriorStds: p.PriorStds(), NoiseStd: p.NoiseStd(),
		Examples: p.examples, Input: p.scan.x.Shape()[1:].Clone(), Outputs: p.scan.outputs,
		Batch: min(p.scan.batch, maxStateBatch), Limit: p.limit,
		Residuals: p.evidence.residuals, LogLikelihood: p.evidence.logLik,
	}
	for _, w := range p.scan.weights {
		s.Weights = append(s.Weights, w.Name)
	}
	p.structure.describe(&s)
	return s
}

// Arrays returns what the posterior is made of, in float64, not to be changed:
//
//	Full      the lower triangle of H [P(P+1)/2], or in function space the inputs
//	          [N,…], from which the Jacobian is computed again
//	KFAC      eigenvalues [p] and eigenvectors [p,p] of each factor
//	Diagonal  the diagonal by parameter, [P] in all
//	LowRank   the eigenvectors, each times the root of its eigenvalue [Rank,P]
func (p *Posterior) Arrays() []Array {
	var arrays []Array
	_ = p.structure.fields(func(name string, v *[]float64, shape ...int) error { // none fails here
		arrays = append(arrays, Array{name, dense(*v, shape...)})
		return nil
	})
	return arrays
}

// visitor is given each array that a structure is made of: to save it, or to fill it.
type visitor func(name string, v *[]float64, shape ...int) error

// Restore returns the posterior that State took apart, on the same network: with the
// same predictions, bit for bit on the same kind of machine, and every method. get
// returns the array of a name, which must be float64 of the shape that is given. It
// takes a factorisation, in function space a pass over the examples, too. What makes
// no sense is an error.
func Restore(ctx context.Context, net layers.Network, s State, get func(name string, shape ...int) (*tensor.Dense, error)) (*Posterior, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p, err := newPosterior(net, s.Input, s.Outputs, s.Examples, s.options(), s.structure)
	if err != nil {
		return nil, err
	}
	h := hyper{slices.Clone(s.PriorStds), s.NoiseStd}
	if s.Likelihood == Softmax {
		h.noise = 1
	}
	if len(h.prior) != len(p.prior.names) || h.free() {
		return nil, fmt.Errorf("laplace: prior standard deviations %s and noise standard deviation %g, expected positive ones for %q",
			list(s.PriorStds), s.NoiseStd, p.prior.names)
	}
	p.evidence.residuals, p.evidence.logLik = s.Residuals, s.LogLikelihood
	if err := p.addWeights(); err != nil {
		return nil, err
	}
	if err := p.structure.fields(filled(get)); err != nil {
		return nil, err
	}
	if err := p.rebuild(ctx); err != nil {
		return nil, err
	}
	return p.with(ctx, h)
}

// filled is a visitor that gets every array.
func filled(get func(name string, shape ...int) (*tensor.Dense, error)) visitor {
	return func(name string, v *[]float64, shape ...int) error {
		t, err := get(name, shape...)
		if err != nil {
			return err
		}
		if t.Dtype() != tensor.Float64 || !slices.Equal(t.Shape(), shape) {
			return fmt.Errorf("laplace: array %q holds %v of shape %v, expected float64 of shape %v", name, t.Dtype(), t.Shape(), tensor.Shape(shape))
		}
		*v = t.Float64s()
		if i, f := notFinite(*v); i >= 0 {
			return fmt.Errorf("laplace: array %q: element %d is %g", name, i, f)
		}
		return nil
	}
}

// rebuild computes what is not among the fields.
func (p *Posterior) rebuild(ctx context.Context) error {
	if f, ok := p.structure.(*functionSpace); ok {
		x := dense(f.x, append([]int{p.examples}, p.scan.x.Shape()[1:]...)...)
		return p.sum(ctx, inputs{t: x, n: p.examples, shape: x.Shape()[1:]}, func(batch) {})
	}
	return p.structure.(interface{ rebuild() error }).rebuild()
}

// check refuses numbers that no fit gives.
func (s State) check() error {
	const most = 1 << 30
	size := s.Outputs
	for _, v := range s.Input {
		size = min(most+1, size*min(most, max(0, v)))
	}
	switch {
	case s.Examples < 1 || s.Examples > 1<<40 || s.Rank < 0 || s.Limit < 1:
		return fmt.Errorf("laplace: %d examples, rank %d and a memory limit of %d bytes, expected positive numbers", s.Examples, s.Rank, s.Limit)
	case len(s.Input) == 0 || slices.Min(s.Input) < 1 || s.Outputs < 1 || size > most:
		return fmt.Errorf("laplace: inputs of shape %v and %d outputs, expected positive numbers", s.Input, s.Outputs)
	case s.Batch < 1 || s.Batch > maxStateBatch:
		return fmt.Errorf("laplace: batches of %d, expected 1 to %d", s.Batch, maxStateBatch)
	case !(s.Residuals >= 0) || s.Residuals-s.Residuals != 0 || s.LogLikelihood-s.LogLikelihood != 0:
		return fmt.Errorf("laplace: squared residuals %g and log likelihood %g, expected finite numbers", s.Residuals, s.LogLikelihood)
	case s.Structure == LowRank && s.Rank == 0:
		return fmt.Errorf("laplace: rank 0 for the structure %v", s.Structure)
	case s.Structure == Full && s.Space == Smaller:
		return fmt.Errorf("laplace: space %v for the structure %v, expected %v or %v", s.Space, s.Structure, WeightSpace, FunctionSpace)
	}
	if err := s.options().check(); err != nil {
		return err
	}
	return hyper{s.PriorStds, s.NoiseStd}.check(s.Likelihood)
}

func (s State) options() Options {
	return Options{
		Weights: Named(s.Weights...), Structure: s.Structure, Space: s.Space, Likelihood: s.Likelihood,
		Priors: s.Priors, Rank: s.Rank, BatchSize: s.Batch, MemoryLimit: s.Limit,
	}
}

// structure returns the representation of H without its numbers.
func (s State) structure(of *scanner) structure {
	if s.Structure == LowRank {
		return &lowRank{functionSpace: functionSpace{scanner: of, gram: gram{n: s.Rank}}, rank: s.Rank}
	}
	return newStructure(of, s.Examples, s.options())
}

// triangle returns the lower triangle of a [n,n], row by row.
func triangle(a []float64, n int) []float64 {
	out := make([]float64, 0, n*(n+1)/2)
	for i := range n {
		out = append(out, a[i*n:i*n+i+1]...)
	}
	return out
}

// fields: H is symmetric.
func (g *gram) fields(visit visitor) error {
	var packed []float64
	if g.a != nil {
		packed = triangle(g.a, g.n)
	}
	if err := visit("h", &packed, g.n*(g.n+1)/2); err != nil || g.a != nil {
		return err
	}
	g.a = make([]float64, g.n*g.n)
	for i := range g.n {
		packed = packed[copy(g.a[i*g.n:i*g.n+i+1], packed):]
	}
	mirror(g.a, g.n)
	return nil
}

func (g *gram) rebuild() error { return nil }

func (g *gram) describe(s *State) { s.Space = WeightSpace }

func (f *functionSpace) fields(visit visitor) error {
	return visit("x", &f.x, append([]int{f.n / f.outputs}, f.scanner.x.Shape()[1:]...)...)
}

func (f *functionSpace) describe(s *State) { s.Space = FunctionSpace }

func (l *lowRank) fields(visit visitor) error { return visit("r", &l.j, l.n, l.params) }

func (l *lowRank) rebuild() error {
	l.a = make([]float64, l.n*l.n)
	return l.functionSpace.finish()
}

func (l *lowRank) describe(s *State) { s.Structure, s.Rank = LowRank, l.n }

func (h *diagonal[T]) fields(visit visitor) error {
	if h.h == nil {
		h.h = make([][]float64, len(h.blocks))
	}
	for i, k := range h.blocks {
		if err := visit(k.param.Name+".h", &h.h[i], k.p(), k.q()); err != nil {
			return err
		}
	}
	return nil
}

func (h *diagonal[T]) rebuild() error {
	for i, k := range h.blocks {
		if v := slices.Min(h.h[i]); v < 0 {
			return fmt.Errorf("laplace: the diagonal of H in %q has the element %g", k.param.Name, v)
		}
	}
	return nil
}

func (h *diagonal[T]) describe(s *State) { s.Structure = Diagonal }

func (h *kfac[T]) describe(s *State) { s.Structure = KFAC }

// fields: a factor is called after the first parameter that it belongs to.
func (h *kfac[T]) fields(visit visitor) (err error) {
	h.factors(func(k block, n *graph.Node, width int) {
		name := k.param.Name + ".input"
		if n == k.d {
			name = k.param.Name + ".cotangent"
		}
		values, vectors := h.values[n], h.basis[n]
		if err == nil {
			err = visit(name+".values", &values, width)
		}
		if err == nil {
			err = visit(name+".vectors", &vectors, width, width)
		}
		h.values[n], h.basis[n] = values, vectors
	})
	return err
}
