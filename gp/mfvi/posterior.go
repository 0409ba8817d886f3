package mfvi

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// predictBatch is the number of inputs that Joint computes at a time.
const predictBatch = 250

// posterior is a network with Gaussian weights. Its predictions come from K draws of the weights,
// which are the same for all inputs. Several goroutines may call Joint, and take turns.
type posterior struct {
	net     layers.Network             // whose form the draws have
	input   tensor.Shape               // of one input
	outputs int                        // C
	classes bool                       // predictions have probabilities of classes
	means   *layers.Copy               // μ and running statistics
	stds    []*graph.Param             // ψ; nil for weights that are certain
	samples int                        // K
	seed    uint64                     // of the draws
	limit   int64                      // bytes of joint predictions
	noise   func(k int) func() float64 // ε of draw k, one after the other; nil: by the seed

	mu    sync.Mutex        // guards what follows
	run   *layers.Copy      // with the weights of the draw at hand
	batch *graph.Batched    // run, compiled; nil before the first joint prediction
	draws [][]*tensor.Dense // for compiled predictions, see Compile
}

var (
	_ gp.JointPosterior = (*posterior)(nil)
	_ gp.Stored         = (*posterior)(nil)
	_ gp.OwnMean        = (*posterior)(nil)
)

// String implements gp.Stored.
func (p *posterior) String() string { return label(p.stds == nil) }

// OwnMean implements gp.OwnMean.
func (p *posterior) OwnMean() string {
	if p.stds == nil {
		return "Predictions are those of the network trained further, not the network's."
	}
	return fmt.Sprintf("Predictions are means over %d draws of weights that were trained further, not the network's.", p.samples)
}

// dtype is the element type of the weights.
func (p *posterior) dtype() tensor.Dtype { return p.means.Params()[0].Value.Dtype() }

// draw writes the weights of draw number k, μ + e^ψ∘ε, to arrays like the parameters.
func (p *posterior) draw(k int, to []*tensor.Dense) {
	eps := rand.New(rand.NewPCG(p.seed^drawStream, uint64(k))).NormFloat64
	if p.noise != nil {
		eps = p.noise(k)
	}
	for i, mean := range p.means.Params() {
		switch {
		case p.stds == nil:
			tensor.Copy(to[i], mean.Value)
		case p.dtype() == tensor.Float32:
			drawWeights(to[i].Float32s(), mean.Value.Float32s(), p.stds[i].Value.Float32s(), eps)
		default:
			drawWeights(to[i].Float64s(), mean.Value.Float64s(), p.stds[i].Value.Float64s(), eps)
		}
	}
}

func drawWeights[T kernel.Float](to, mean, logStd []T, eps func() float64) {
	for i := range to {
		to[i] = mean[i] + T(math.Exp(float64(logStd[i]))*eps())
	}
}

// values lists the arrays of parameters.
func values(params []*graph.Param) []*tensor.Dense {
	out := make([]*tensor.Dense, len(params))
	for i, p := range params {
		out[i] = p.Value
	}
	return out
}

// drawn returns a copy of the network that draws are written to, with the running statistics.
func (p *posterior) drawn() *layers.Copy {
	c := layers.NewCopy(p.net)
	for i, v := range values(p.means.State()) {
		tensor.Copy(c.State()[i].Value, v)
	}
	return c
}

// prepare compiles the network.
func (p *posterior) prepare() (err error) {
	if p.batch != nil {
		return nil
	}
	p.run = p.drawn()
	p.batch, err = graph.NewBatchedWithin("the network", predictBatch, p.limit, func(size int) (graph.Pass, error) {
		b := graph.NewBuilder(p.dtype())
		x := b.Input("x", append([]int{size}, p.input...)...)
		return graph.Pass{Builder: b, X: x, Outputs: []*graph.Node{p.run.Forward(b, x)}}, b.Err()
	})
	return err
}

// each calls f with the outputs [N·C] of each draw at inputs x [N,…].
func (p *posterior) each(ctx context.Context, x *tensor.Dense, f func(k int, out []float64)) error {
	if err := p.prepare(); err != nil {
		return err
	}
	out := make([]float64, 0, p.outputs)
	for k := range p.samples {
		p.draw(k, values(p.run.Params()))
		p.batch.Refresh()
		out = out[:0]
		err := p.batch.Each(ctx, x, func(_, n int, v []*tensor.Dense) error {
			out = append(out, graph.Floats(v[0])[:n*p.outputs]...)
			return nil
		})
		if err != nil {
			return err
		}
		f(k, out)
	}
	return nil
}

// reset empties moments of n inputs.
func (p *posterior) reset(l *gp.Gaussian, n int) {
	l.Resize(n, p.outputs, false)
	clear(l.Mean)
	clear(l.Cov)
	if p.classes {
		l.ResizeProbs()
		clear(l.Probs)
	}
}

// take takes the outputs of draw number k into the moments (Welford 1962). After the last draw they
// are the moments of all draws. It overwrites out, and room [C].
func (p *posterior) take(l *gp.Gaussian, room, out []float64, k int) {
	c, n := p.outputs, float64(k+1)
	for i := range len(out) / c {
		row, mean, cov := out[i*c:(i+1)*c], l.Mean[i*c:(i+1)*c], l.Cov[i*c*c:(i+1)*c*c]
		for a, v := range row {
			room[a] = v - mean[a]
			mean[a] += room[a] / n
		}
		for a, u := range room {
			for b, v := range room {
				cov[a*c+b] += ((n-1)/n*u*v - cov[a*c+b]) / n
			}
		}
		if p.classes {
			kernel.Softmax(row, row)
			for a, v := range row {
				l.Probs[i*c+a] += v / float64(p.samples)
			}
		}
	}
}

// Joint implements gp.JointPosterior: for x [N,…] the mean [N·C] and the covariance [N·C, N·C]
// over the draws. It returns a *graph.MemoryError where these exceed the limit.
func (p *posterior) Joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err = dense.CheckRows(x); err == nil {
		mean, cov, err = p.joint(ctx, x)
	}
	return mean, cov, fault.In("mfvi: joint prediction", err)
}

// joint is Joint, for one caller at a time.
func (p *posterior) joint(ctx context.Context, x *tensor.Dense) (mean, cov *tensor.Dense, err error) {
	n, k := x.Shape()[0]*p.outputs, p.samples
	if need := 8 * int64(n) * int64(n+k); need > p.limit {
		return nil, nil, &graph.MemoryError{What: "the joint covariance", Need: need, Limit: p.limit}
	}
	all := make([]float64, 0, k*n) // [K, N·C]
	if err := p.each(ctx, x, func(_ int, out []float64) { all = append(all, out...) }); err != nil {
		return nil, nil, err
	}
	m, q := make([]float64, n), make([]float64, n*n)
	for row := range slices.Chunk(all, n) {
		kernel.Axpy(1/float64(k), row, m)
	}
	for row := range slices.Chunk(all, n) {
		kernel.Axpy(-1, m, row)
	}
	kernel.Syrk(true, n, k, 1/float64(k), all, n, 0, q, n)
	return dense.Of(m, n), dense.Of(q, n, n), nil
}
