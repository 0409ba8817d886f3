package valla

import (
	"context"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// stepSums is what the parts of a mini-batch add up to.
type stepSums struct {
	rho float64 // ρ before the bound
	// bound is how far a step may go, see spectrum.distance.
	bound float64
	// afterwards says that the gradient for Z is that after the step of T, not before:
	// where the step is large T would belong to other Z. That takes the whole mini-batch.
	afterwards bool
	spectra    []*spectrum // one for each rung
	t          [][]float64 // Σ w λ v vᵀ of each rung, [M,M]
	losses     []float64   // of each rung
	weights    []float64   // of the part under way
	first      bool        // whether that is the first part
}

// stepGraph is the graph of a step on so many examples at a time.
type stepGraph struct {
	b           *graph.Builder
	x, y, z     *graph.Node
	out         *graph.Node
	size, bytes int
}

// compile prepares the program of a step, for as large a part of a mini-batch as the
// memory allows.
func (n *natural) compile(x *tensor.Dense) error {
	var g *stepGraph
	size, _, err := graph.Tile("a natural-gradient step", n.draws.size, n.f.MemoryLimit, func(size int) (int64, error) {
		var err error
		g, err = n.stepGraph(x, size)
		if err != nil {
			return 0, err
		}
		return int64(g.bytes), nil
	})
	if err != nil {
		return err
	}
	n.parts = n.draws.size / size
	n.step.afterwards = n.parts == 1
	if !n.f.FixInducing {
		n.grad = g.out
	}
	if n.program, err = graph.Compile(g.b, []*graph.Node{g.out}, g.options()); err != nil {
		return err
	}
	n.xb = tensor.New(tensor.Of(n.dt), tensor.WithShape(g.x.Shape()...))
	n.yb = tensor.New(tensor.Of(n.dt), tensor.WithShape(g.y.Shape()...))
	if err := n.program.Bind(g.x, n.xb); err != nil {
		return err
	}
	if err := n.program.Bind(g.y, n.yb); err != nil {
		return err
	}
	n.local, err = newLocal(n.f.Likelihood, n.f.Alpha, size, n.outputs, n.dt)
	return err
}

func (g *stepGraph) options() graph.Options {
	return graph.Options{Varying: []*graph.Node{g.x, g.y, g.z}}
}

// stepGraph writes the kernel at so many examples into a graph and, unless Z is fixed,
// the pullback to Z of cotangents that are computed on the way.
func (n *natural) stepGraph(x *tensor.Dense, size int) (*stepGraph, error) {
	b, l, m, c := graph.NewBuilder(n.dt), n.f.Layer, n.f.Layer.Inducing(), n.outputs
	g := &stepGraph{b: b, size: size}
	g.x = b.Input("x", append([]int{size}, x.Shape()[1:]...)...)
	g.y, g.z = b.Input("y", size, c), b.Param(l.Z)
	mean := n.f.Net.Forward(b, g.x)
	diag, cross, gram := l.Kernel.Diag(b, g.x), l.Kernel.Cross(b, g.x, g.z, l.Class), l.Kernel.Gram(b, g.z, l.Class)
	if b.Err() == nil && (len(mean.Shape()) != 2 || mean.Shape()[1] != c) {
		b.Failf("the network maps to shape %v, the targets have shape %v", mean.Shape(), n.y.Shape())
	}
	rows := 0
	if !n.f.FixInducing {
		rows = size*c + m
	}
	g.out = b.Call("natural gradient", []int{max(rows, 1), m}, n.part, mean, g.y, diag, cross, gram)
	if !n.f.FixInducing {
		k, kz := b.Reshape(b.Slice(g.out, 0, 0, size*c), size, c, m), b.Slice(g.out, 0, size*c, rows)
		g.out = graph.VJP(b, []*graph.Node{cross, gram}, []*graph.Node{k, kz}, []*graph.Node{g.z})[0]
	}
	var err error
	g.bytes, err = graph.Plan(b, []*graph.Node{g.out}, g.options())
	return g, err
}

// Evaluate implements train.Objective: it makes the natural-gradient step of every rung
// and computes the gradient for Z at the leading one.
func (n *natural) Evaluate(ctx context.Context, iteration int) (float64, error) {
	if err := n.search(ctx, iteration); err != nil {
		return 0, err
	}
	n.begin(iteration)
	size := n.draws.size / n.parts
	for part := range n.parts {
		if err := ctx.Err(); err != nil && part > 0 {
			return 0, err // the step is not made
		}
		rows := n.draws.rows[part*size : (part+1)*size]
		if err := n.x.Load(n.xb, rows, iteration); err != nil {
			return 0, err
		}
		if err := (train.Rows{All: n.y}).Load(n.yb, rows, iteration); err != nil {
			return 0, err
		}
		n.step.first, n.step.weights = part == 0, n.draws.weights[part*size:(part+1)*size]
		if err := n.program.Run(); err != nil {
			return 0, err
		}
		if n.grad != nil {
			addTo(n.params[0].Grad, n.program.Value(n.grad))
		}
	}
	return n.end(iteration), nil
}

// begin clears the sums of a step.
func (n *natural) begin(iteration int) {
	n.draws.load(iteration)
	n.step.rho = max(2/float64(iteration+2), n.leastRate(iteration))
	n.step.bound = n.bound(iteration)
	n.step.t, n.step.losses = nil, make([]float64, n.ladder.rungs)
	clear(n.ladder.noiseGrad.Float64s())
	if n.grad != nil {
		store(n.params[0].Grad, nil)
	}
}

// leastRate bounds ρ from below by B/N, for an average over an epoch: that has seen all of
// the data, and Z moves away from older steps. It is half of that where λ depends on Q,
// which would overshoot in steps of 1, and falls with the learning rate: the slower Z is,
// the longer the average may be.
func (n *natural) leastRate(iteration int) float64 {
	rate := float64(n.draws.size) / float64(n.draws.n)
	if n.f.Alpha > 0 {
		rate /= 2
	}
	return rate * n.f.Config.Schedule(iteration, n.f.Config.Iterations)
}

// farthestStep bounds steps, and falls with the learning rate. On tables of many rows 3, 10
// and 30 do alike; 1 and 3 slow the fits of images, where few steps reach 30.
const farthestStep = 30.0

// bound is how far a step may go. Where λ depends on Q it has both signs, and what a
// mini-batch adds may exceed many times what is left of the sum over all of the data, in
// which it cancels. For α = 0 no λ is negative, T is an average, and no step goes too far.
func (n *natural) bound(iteration int) float64 {
	if n.f.Alpha == 0 {
		return math.Inf(1)
	}
	return farthestStep * n.f.Config.Schedule(iteration, n.f.Config.Iterations)
}

// rate is ρ for rung i, whose step by ρ d is bounded.
func (n *natural) rate(i int, d []float64) float64 {
	rho := n.step.rho
	if far := rho * n.step.spectra[i].distance(n.ladder.scale(i), d); far > n.step.bound {
		rho *= n.step.bound / far
	}
	return rho
}

// part takes one part of a mini-batch into the sums: the network's outputs [b,C], targets
// [b,C], κ̂ [b,C,C], k̂ [b,C,M] and K̂_z [M,M]. It returns the cotangents of the last two.
func (n *natural) part(in [][]float64) ([]float64, error) {
	if n.step.first {
		if err := n.spectra(in[4]); err != nil {
			return nil, err
		}
	}
	e := examples{mean: in[0], y: in[1], diag: diagonals(in[2], n.outputs), v: in[3]}
	n.step.spectra[0].whiten(e.v)
	cotangents := make([]float64, n.ladder.m)
	for i, p := range n.step.spectra {
		w, lambda, err := n.marginals(i, p, e)
		if err != nil {
			return nil, err
		}
		n.step.losses[i] -= n.local.sum()
		n.ladder.addGradients(i, n.local.gradients())
		for k, g := range weightedGram(p.m, lambda, e.v) {
			n.step.t[i][k] += g
		}
		if i == n.ladder.lead() && n.grad != nil {
			if cotangents, err = n.cotangents(i, p, e, w, lambda); err != nil {
				return nil, err
			}
		}
	}
	return cotangents, nil
}

// examples are network outputs, targets, κ̂ [b,C] and v [b·C,M] of a part of a mini-batch.
type examples struct{ mean, y, diag, v []float64 }

// marginals evaluates the likelihood at the examples for rung i, and returns their
// coordinates and weighted λ.
func (n *natural) marginals(i int, p *spectrum, e examples) (w, lambda []float64, err error) {
	w = p.rotate(e.v)
	unflat(n.f.Likelihood.Params(), n.ladder.params(i))
	err = n.local.run(e.y, e.mean, p.variance(n.ladder.scale(i), e.diag, w), n.step.weights)
	return w, n.local.lambda(len(n.step.weights)), err
}

// cotangents are those of the objective at rung i, before or after the step of T.
func (n *natural) cotangents(i int, p *spectrum, e examples, w, lambda []float64) ([]float64, error) {
	if n.step.afterwards && n.step.rho > stale {
		var err error
		d := n.ladder.away(i, n.step.t[i])
		if p, err = p.spectrum(n.ladder.stepped(i, n.rate(i, d), d)); err != nil {
			return nil, err
		}
		if w, lambda, err = n.marginals(i, p, e); err != nil {
			return nil, err
		}
	}
	k, kz := p.cotangents(n.ladder.scale(i), lambda, w)
	return append(k, kz...), nil
}

// spectra prepares the rungs for K̂_z, which all parts of a mini-batch share.
func (n *natural) spectra(gram []float64) error {
	var err error
	if n.step.spectra, err = n.rungSpectra(gram, false); err != nil {
		return err
	}
	for i, p := range n.step.spectra {
		n.step.t = append(n.step.t, make([]float64, p.m*p.m))
		n.step.losses[i] += p.kl(n.ladder.scale(i))
	}
	return nil
}

// rungSpectra are the spectra of all rungs for K̂_z.
func (n *natural) rungSpectra(gram []float64, fresh bool) ([]*spectrum, error) {
	f, err := newFrame(n.ladder.m, gram, leastJitter(n.dt))
	if err != nil {
		return nil, err
	}
	n.jitter = max(n.jitter, f.jitter)
	return n.ladder.spectra(f, fresh)
}

// end makes the step, and returns the objective of the leading rung before it.
func (n *natural) end(iteration int) float64 {
	for i, sum := range n.step.t {
		d := n.ladder.away(i, sum)
		rho := n.rate(i, d)
		if rho < n.step.rho {
			n.ladder.outdate()
		}
		copy(n.ladder.natural(i), n.ladder.stepped(i, rho, d))
		n.ladder.losses.Float64s()[i] += n.step.losses[i]
	}
	n.ladder.changed(n.step.rho, iteration+1)
	n.showLead()
	return n.step.losses[n.ladder.lead()]
}

// search moves the ladder, once after a number of steps: early on, before a state can be
// the best one, by the validation examples; without any by the objective, whenever they
// would be looked at.
func (n *natural) search(ctx context.Context, done int) error {
	cfg, values := n.f.Config, append([]float64(nil), n.ladder.losses.Float64s()...)
	regular := done%cfg.ValidateEvery == 0
	due := n.check == nil && regular || n.check != nil && !regular && searched(done, cfg.Iterations)
	if !due || done == 0 || n.ladder.rungs == 1 || n.ladder.searchedAt() == done {
		return nil
	}
	if n.check != nil {
		spectra, err := n.presentSpectra()
		if err != nil {
			return err
		}
		if values, err = n.check.values(ctx, n, spectra); err != nil {
			return err
		}
	}
	n.ladder.choose(values)
	n.ladder.climb(values, leastStep(done, cfg.Iterations))
	n.ladder.setSearchedAt(done)
	return nil
}

// searched says whether the ladder is moved after so many of all iterations: after 2 and
// 5 % of them.
func searched(done, all int) bool { return done == (all+49)/50 || done == (all+19)/20 }

// leastStep is the least ratio of neighbouring scales after so many of all iterations.
func leastStep(done, all int) float64 {
	if 2*done < all {
		return middleStep
	}
	return lastStep
}

// showLead sets σ₀ and the likelihood's parameters to those of the leading rung.
func (n *natural) showLead() {
	i := n.ladder.lead()
	n.f.Layer.LogPriorStd.Set(0, n.ladder.logStd.Float64s()[i])
	unflat(n.f.Likelihood.Params(), n.ladder.params(i))
}

// diagonals picks the diagonals [n·C] of matrices [n,C,C].
func diagonals(v []float64, c int) []float64 {
	out := make([]float64, len(v)/c)
	for i := range out {
		out[i] = v[i*c+i%c]
	}
	return out
}

// addTo adds v to sum, two tensors that are alike.
func addTo(sum, v *tensor.Dense) {
	if sum.Dtype() == tensor.Float64 {
		for i, x := range v.Float64s() {
			sum.Float64s()[i] += x
		}
		return
	}
	for i, x := range v.Float32s() {
		sum.Float32s()[i] += x
	}
}
