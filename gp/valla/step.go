package valla

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/kernel"
)

// pace says how far and how fast a step goes.
type pace struct {
	rho   float64 // ρ before the bound
	bound float64 // of the step's length, see spectrum.distance
}

// pace returns the pace of an iteration.
func (n *natural) pace(iteration int) pace {
	return pace{max(2/float64(iteration+2), n.leastRate(iteration)), n.bound(iteration)}
}

// leastRate bounds ρ from below by B/N, which makes T an average over an epoch: that has
// seen all of the data, and older steps belong to a Z that has moved on. Where λ depends on
// Q the bound is half as large, since steps of 1 would overshoot. It falls with the learning
// rate: the slower Z moves, the longer the average may be.
func (n *natural) leastRate(iteration int) float64 {
	rate := float64(n.draws.size) / float64(n.draws.n)
	if !n.steady() {
		rate /= 2
	}
	return rate * n.loop.Schedule(iteration, n.loop.Iterations)
}

// farthestStep bounds the length of a step at the full learning rate. On tables of many rows
// 3, 10 and 30 did equally well; 1 and 3 made fits of images slower, where few steps are as
// long as 30.
const farthestStep = 30.0

// steady reports whether λ does not depend on Q.
func (n *natural) steady() bool { return n.alpha == 0 && likelihood.IsGaussian(n.lik) }

// bound returns the largest length of a step, which falls with the learning rate. If λ depends
// on Q it may have both signs, or change by orders of magnitude. In the sum over all data most of it cancels, and the
// contribution of one mini-batch may be many times as large as the whole sum. A steady λ is not negative, T is
// an average, and no step is too long.
func (n *natural) bound(iteration int) float64 {
	if n.steady() {
		return math.Inf(1)
	}
	return farthestStep * n.loop.Schedule(iteration, n.loop.Iterations)
}

// leastChange bounds what a step takes away from the precision in any direction: half of it, so
// that no variance more than doubles. A mini-batch in which the residuals are large would
// otherwise take away all that the data had determined of some directions. There the variance
// would jump to the prior's, which on small tables happened again and again, the more so the
// larger σ₀.
const leastChange = -0.5

// step bounds a step by ρ d of a rung with prior variance s. It returns the change of T of the step that is made, in the
// memory of d or of the spectrum, and the length of the step, see the function length.
func (p pace) step(at *spectrum, s float64, d []float64) (step []float64, far float64, err error) {
	relative := at.relative(s, d)
	rho, far := p.rho, p.rho*length(relative)
	if far > p.bound {
		rho, far = rho*p.bound/far, p.bound
	}
	if far > -leastChange && !math.IsInf(p.bound, 1) {
		if d, err = at.curbed(s, d, relative, leastChange/rho); err != nil {
			return nil, 0, err
		}
	}
	kernel.Scale(d, rho, d)
	return d, far, nil
}

// sums are what a mini-batch, or a part of one, adds up to, for each rung.
type sums struct {
	spectra []*spectrum // of the present Z
	change  float64     // of T since the spectra were computed, see ladder.change
	t       [][]float64 // Σ w λ v vᵀ, [M,M]
	losses  []float64   // the objective; of a part that is not the first its data term
	noise   [][]float64 // gradients in the likelihood's parameters
	left    float64     // share of the prior variance that is left at the examples of the last part, at the leading rung
	lead    *target     // of the leading rung, where its step was made on the way
}

// add adds the sums of the next part.
func (s *sums) add(part *sums) {
	if s.spectra == nil {
		s.spectra, s.change = part.spectra, part.change
		s.losses = make([]float64, len(part.losses))
		for i := range part.t {
			s.t = append(s.t, make([]float64, len(part.t[i])))
			s.noise = append(s.noise, make([]float64, len(part.noise[i])))
		}
	}
	s.left = part.left
	for i := range part.t {
		s.losses[i] += part.losses[i]
		kernel.Add(s.t[i], s.t[i], part.t[i])
		kernel.Add(s.noise[i], s.noise[i], part.noise[i])
	}
}

// pass adds up a mini-batch at the present state, and overwrites the gradients of what Adam
// moves.
func (n *natural) pass(ctx context.Context, iteration int, p pace) (*sums, error) {
	rng := n.draws.load(iteration)
	all := &sums{}
	for part := range n.inputs.parts {
		if err := ctx.Err(); err != nil && part > 0 {
			return nil, err // the step is not made
		}
		size := n.inputs.size
		from, to := part*size, (part+1)*size
		found, err := n.inputs.run(n.draws.rows[from:to], part == 0, request{weights: n.draws.weights[from:to], spectra: all.spectra, pace: p, rng: rng})
		if err != nil {
			return nil, err
		}
		if n.inputs.parts == 1 {
			all = found
		} else {
			all.add(found)
		}
		if !n.s.FixInducing {
			n.inputs.addGradient(n.params[0].Grad, part == 0)
		}
	}
	n.ladder.setGradients(all.noise)
	return all, nil
}

// request says what a part of a mini-batch has to compute.
type request struct {
	weights []float64   // of its examples
	spectra []*spectrum // of the present Z, from the first part; nil in it
	pace    pace        // how far the step goes
	rng     *rand.Rand  // of the choice of outputs
}

// part adds up a part of a mini-batch from the values of the network and the kernel, and
// returns the cotangents of k̂ and K̂_z at the leading rung, one after the other. It leaves
// the ladder as it is, since the program calls it in the middle of its run.
func (n *natural) part(ask request, v values) (*sums, []float64, error) {
	out, err := n.begin(ask, v.gram)
	if err != nil {
		return nil, nil, err
	}
	out.spectra[0].whiten(v.k)
	cotangents := make([]float64, n.ladder.m)
	out.t, out.noise = make([][]float64, n.ladder.rungs()), make([][]float64, n.ladder.rungs())
	err = n.ladder.each(func(i int) error {
		p := out.spectra[i]
		m, err := n.marginals(i, p, v, ask.weights)
		if err != nil {
			return err
		}
		out.losses[i] -= m.sum
		out.t[i], out.noise[i] = weightedGram(p.mem, p.m, m.lambda, v.k), m.gradients
		if i != n.ladder.lead() {
			return nil
		}
		if out.left = m.left; !n.s.FixInducing {
			cotangents, err = n.cotangents(i, out, v, m, ask)
		}
		return err
	})
	return out, cotangents, err
}

// begin prepares the sums of a part: in the first one the spectra and the divergences from
// the prior.
func (n *natural) begin(ask request, gram []float64) (*sums, error) {
	for _, m := range n.ladder.mem {
		m.Free()
	}
	out := &sums{spectra: ask.spectra, losses: make([]float64, n.ladder.rungs())}
	if ask.spectra != nil {
		return out, nil
	}
	f, err := newFrame(n.ladder.m, gram, leastJitter(n.dt))
	if err != nil {
		return nil, err
	}
	out.change = n.ladder.numbers.Change
	fresh := stale(out.change)
	if fresh {
		out.change = 0
	}
	if out.spectra, err = n.ladder.spectra(f, fresh); err != nil {
		return nil, err
	}
	for i, p := range out.spectra {
		out.losses[i] += p.kl(n.ladder.scale(i))
	}
	return out, nil
}

// target is where a step takes a rung.
type target struct {
	t      []float64 // T after the step, [M,M]
	change float64   // by the step, see ladder.change
}

// target finds where a step takes rung i, given the sum of a mini-batch.
func (n *natural) target(i int, at *spectrum, sum []float64, p pace) (*target, error) {
	step, far, err := p.step(at, n.ladder.scale(i), n.ladder.away(i, sum))
	if err != nil {
		return nil, err
	}
	kernel.Add(step, step, n.ladder.natural(i))
	return &target{step, n.ladder.change(p.rho, far)}, nil
}

// step moves T of every rung towards the sums of a mini-batch.
func (n *natural) step(s *sums, p pace, iteration int) error {
	n.ladder.jittered(s.spectra[0].frame)
	changes := make([]float64, n.ladder.rungs())
	err := n.ladder.each(func(i int) error {
		to := s.lead
		if to == nil || i != n.ladder.lead() {
			var err error
			if to, err = n.target(i, s.spectra[i], s.t[i], p); err != nil {
				return err
			}
		}
		changes[i] = to.change
		copy(n.ladder.natural(i), to.t)
		n.ladder.losses.Float64s()[i] += s.losses[i]
		return nil
	})
	if err != nil {
		return err
	}
	n.ladder.numbers.Left = s.left
	n.ladder.changed(s.change+slices.Max(changes), iteration+1)
	return nil
}
