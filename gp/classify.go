package gp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
)

// Samples is the usual number of Monte-Carlo samples. The VaLLA paper's runs use it.
const Samples = 2048

// Probit returns class probabilities [N,C] by the probit approximation (MacKay 1992):
// softmax(F) with F_c = f_c / √(1 + (π/8) Q_cc), where f is the mean of the logits and Q their
// covariance. They are in the memory of probs, where that suffices.
func Probit(probs []float64, g Gaussian) []float64 {
	c := g.Outputs()
	probs = dense.Resized(probs, len(g.Mean))
	for i := range g.N() {
		v, step := g.variances(i)
		for k := range c {
			probs[i*c+k] = g.Mean[i*c+k] / math.Sqrt(1+math.Pi/8*v[k*step])
		}
		kernel.Softmax(probs[i*c:(i+1)*c], probs[i*c:(i+1)*c])
	}
	return probs
}

// Bridge writes class probabilities [N,C] by the Laplace bridge into probs: the mean α/Σα of the
// Dirichlet distribution that comes nearest to the softmax of the logits f ~ N(μ, Q) (MacKay
// 1998; Hobbhahn, Kristiadi and Hennig 2022),
//
//	α_c = (1 − 2/C + e^{μ_c} Σ_k e^{−μ_k}/C²)/Q_cc.
//
// A larger Q lowers the concentration Σα but not α/Σα: unlike the probabilities of [Probit] and
// [MonteCarloProbs] the probabilities do not become more equal where all logits are more
// uncertain. Logits that are certain, all Q_cc = 0 as of a network without a posterior, have
// softmax(μ). If some variances of an example are 0 and others are not, there is no α, which is an
// error; first is the number of the first example in it.
func Bridge(probs []float64, g Gaussian, first int) error {
	c := g.Outputs()
	for i := range len(probs) / c {
		mean, p := g.Mean[i*c:(i+1)*c], probs[i*c:(i+1)*c]
		zeros := 0
		v, step := g.variances(i)
		for k := range p {
			if v[k*step] == 0 {
				zeros++
			}
			p[k] = -mean[k]
		}
		switch zeros {
		case 0:
			bridge(p, mean, v, step)
		case c:
			copy(p, mean)
		default:
			return &RowsError{first + i, true, fmt.Errorf("%d of %d logits have the variance 0, for which there is no Laplace bridge", zeros, c)}
		}
		kernel.Softmax(p, p)
	}
	return nil
}

// bridge overwrites p, which holds −μ [C], by log α. Each step-th number of v is a variance.
func bridge(p, mean, v []float64, step int) {
	c := len(p)
	top, sum := slices.Max(p), 0.0
	for _, v := range p {
		sum += math.Exp(v - top)
	}
	total := top + math.Log(sum) - 2*math.Log(float64(c))
	for k, m := range mean {
		a, b := math.Log1p(-2/float64(c)), m+total // −∞ of two classes
		p[k] = max(a, b) + math.Log1p(math.Exp(min(a, b)-max(a, b))) - math.Log(v[k*step])
	}
}

// MonteCarloProbs writes class probabilities [N,C] into probs: the mean of softmax(f) over
// samples of the logits f ~ N(Mean, Cov), computed on all processors. g needs covariances. first is the number of the
// first example of g in the whole set. Example i has a random stream of its own, which depends on
// the seed and on first + i. The result therefore depends neither on how the examples are cut
// into batches nor on the number of processors. MonteCarloProbs returns ctx's error if ctx ends
// first.
func MonteCarloProbs(ctx context.Context, probs []float64, g Gaussian, samples int, seed uint64, first int) error {
	n := g.N()
	j := &sampling{ctx: ctx, probs: probs, g: g, samples: samples, seed: seed, first: first}
	kernel.Parallel((n+sampledAtOnce-1)/sampledAtOnce, j)
	return j.err
}

// sampledAtOnce is the number of examples that are sampled between two checks of the context.
const sampledAtOnce = 100

// sampling is the kernel.Job of MonteCarloProbs.
type sampling struct {
	ctx     context.Context // checked before each part
	probs   []float64       // [N,C]
	g       Gaussian        // the logits
	samples int             // for each example
	seed    uint64          // of the random streams
	first   int             // number of the first example

	mu  sync.Mutex // guards err
	err error      // the first
}

// Run implements kernel.Job.
func (j *sampling) Run(part, _ int) {
	from := part * sampledAtOnce
	err := j.ctx.Err()
	if err == nil {
		err = j.rows(from, min(from+sampledAtOnce, j.g.N()))
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
	}
}

// rows writes the probabilities of the examples from … to−1.
func (j *sampling) rows(from, to int) error {
	c := j.g.Outputs()
	s := newSampler(c)
	for i := from; i < to; i++ {
		if err := semiRoot(j.ctx, c, append(s.work[:0], j.g.Cov[i*c*c:(i+1)*c*c]...), s.root); err != nil {
			return fmt.Errorf("gp: covariance of example %d: %w", j.first+i, err)
		}
		s.rng = rand.New(rand.NewPCG(j.seed, uint64(j.first+i)))
		p := j.probs[i*c : (i+1)*c]
		clear(p)
		if err := s.meanSoftmax(j.ctx, p, j.g.Mean[i*c:(i+1)*c], j.samples); err != nil {
			return err
		}
	}
	return nil
}

// AppendSamples appends count samples [count,C] of the Gaussian with a mean [C] and covariance
// [C,C], which it overwrites. A covariance that is not positive semi-definite is an error, and so is the end of ctx.
func AppendSamples(ctx context.Context, dst, mean, cov []float64, count int, rng *rand.Rand) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := len(mean)
	root, eps := make([]float64, c*c), make([]float64, c)
	if err := semiRoot(ctx, c, cov, root); err != nil {
		return nil, fmt.Errorf("gp: covariance: %w", err)
	}
	for s := range count {
		if s%64 == 63 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for k := range eps {
			eps[k] = rng.NormFloat64()
		}
		for k, m := range mean {
			dst = append(dst, m+kernel.Dot(root[k*c:(k+1)*c], eps))
		}
	}
	return dst, nil
}

// sampler draws from a Gaussian over c outputs, one block of samples at a time.
type sampler struct {
	c      int        // outputs C
	root   []float64  // [c,c]
	work   []float64  // [c,c]
	eps, f []float64  // [sampleBlock, c]
	rng    *rand.Rand // stream of the example at hand
}

const sampleBlock = 256

func newSampler(c int) *sampler {
	return &sampler{c: c, root: make([]float64, c*c), work: make([]float64, c*c), eps: make([]float64, sampleBlock*c), f: make([]float64, sampleBlock*c)}
}

// meanSoftmax sets dst to the mean of softmax(mean + root·ε) over samples. The end of ctx is an error.
func (s *sampler) meanSoftmax(ctx context.Context, dst, mean []float64, samples int) error {
	c := s.c
	for left := samples; left > 0; left -= sampleBlock {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(left, sampleBlock)
		eps, f := s.eps[:n*c], s.f[:n*c]
		for k := range eps {
			eps[k] = s.rng.NormFloat64()
		}
		kernel.Gemm(false, true, n, c, c, 1, eps, c, s.root, c, 0, f, c)
		for r := 0; r < len(f); r += c {
			row := f[r : r+c]
			top := math.Inf(-1)
			for k := range row {
				row[k] += mean[k]
				top = max(top, row[k])
			}
			for k := range row {
				row[k] -= top
			}
		}
		kernel.Exp(f, f)
		for r := 0; r < len(f); r += c {
			sum := 0.0
			for _, v := range f[r : r+c] {
				sum += v
			}
			for k, v := range f[r : r+c] {
				dst[k] += v / sum
			}
		}
	}
	kernel.Scale(dst, 1/float64(samples), dst)
	return nil
}

// negligible is a fraction of the largest variance. Remaining variances below it are left
// out, because they may come from rounding to float32.
const negligible = 1e-6

// semiRoot writes to root a matrix R [c,c] with RRᵀ = a, for a [c,c] that is positive
// semi-definite up to rounding. It uses Cholesky's method and takes the largest remaining
// variance as the next pivot, so that rounding errors are not amplified. It overwrites a. The end of ctx is an error.
func semiRoot(ctx context.Context, c int, a, root []float64) error {
	scale := 0.0
	for k := range c {
		scale = max(scale, math.Abs(a[k*c+k]))
	}
	clear(root)
	for col := range c {
		if col%16 == 15 && ctx.Err() != nil {
			return ctx.Err()
		}
		best, least := 0, 0
		for k := range c {
			if a[k*c+k] > a[best*c+best] {
				best = k
			}
			if a[k*c+k] < a[least*c+least] {
				least = k
			}
		}
		if v := a[least*c+least]; !(v >= -1e-3*scale) || math.IsInf(scale, 0) {
			return fmt.Errorf("not positive semi-definite: output %d is left with the variance %g, the largest is %g", least, v, scale)
		}
		pivot := a[best*c+best]
		if pivot <= negligible*scale {
			return nil
		}
		for k := range c {
			root[k*c+col] = a[k*c+best] / math.Sqrt(pivot)
		}
		for k := range c {
			for l := range c {
				a[k*c+l] -= root[k*c+col] * root[l*c+col]
			}
		}
	}
	return nil
}
