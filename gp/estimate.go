package gp

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/go-valla/valla/internal/kernel"
)

// Estimate says what a fit will take.
type Estimate struct {
	Seconds float64 // of the whole fit
	Bytes   int64   // memory at the most, beside the data
	Cheaper string  // a choice of settings that takes less, as a phrase; "" if there is none, or the fit is not Long

	CheaperSeconds float64 // what the cheaper choice takes; 0: not known

	With          string  // what the defaults chose to keep the fit short, as "20 inducing points"; "" if nothing
	Longer        string  // the settings of the usual, longer fit, as a phrase; "" if With is ""
	LongerSeconds float64 // what the longer fit takes; 0: not known, or it exceeds the memory

	Kept     int64   // bytes that are still held after the fit
	Row      float64 // seconds of a prediction of one input after the fit
	RowBytes int64   // bytes of a compiled prediction for each input of a batch

	Flops    Flops // operations that the fit needs at least; zero where they are not known
	RowFlops Flops // operations of a prediction of one input
}

// Flops are floating-point operations of products of matrices, of convolutions and of solutions of linear systems, by the type
// of their numbers. A multiplication with an addition is two operations.
type Flops struct{ Double, Single float64 } // of float64 and of float32

// Times returns the operations of n such pieces of work.
func (f Flops) Times(n float64) Flops { return Flops{f.Double * n, f.Single * n} }

// Plus returns the operations of both pieces of work.
func (f Flops) Plus(o Flops) Flops { return Flops{f.Double + o.Double, f.Single + o.Single} }

// Long is the number of seconds above which the estimate of a fit names a cheaper choice.
const Long = 60

// Estimator is implemented by Settings that can tell beforehand what a fit takes.
type Estimator interface {
	// Estimate returns the cost of Fit with the same arguments, see [Plan]. It holds little memory and writes no
	// files. It has the errors of Fit, and a *graph.MemoryError where the fit exceeds the memory of r.
	Estimate(ctx context.Context, p Problem, r Run) (Estimate, error)
}

// Abridged is implemented by Settings whose defaults make the weights of the last layer alone uncertain where a fit of all weights
// would take too long, or too much memory. Such a fit may take features for inputs, see gp/frozen.
type Abridged interface {
	// LastLayerAlone reports whether the defaults do so for a problem. The fields With, Longer and LongerSeconds of e, which has no
	// others, say what the fit has less of, and name the fit of all weights.
	LastLayerAlone(ctx context.Context, p Problem, r Run) (alone bool, e Estimate)
}

// Speed returns how many multiplications of large matrix products, each with an addition, the
// machine makes in a second if it does nothing else. It is measured once, in some 50 milliseconds.
var Speed = sync.OnceValue(func() float64 {
	const n = 256 // a product is so short that other work on the machine disturbs few of them
	a, c := make([]float64, n*n), make([]float64, n*n)
	return n * n * n / fastest(func() { kernel.Gemm(false, true, n, n, n, 1, a, n, a, n, 0, c, n) })
})

// fastest returns the seconds of the fastest of some calls of f, which other work on the machine disturbs least. A call
// that waits for a processor may take longer than all others.
func fastest(f func()) float64 {
	const enough, least, most = 0.05, 10, 50
	best, begun := math.Inf(1), time.Now()
	for i := range most {
		start := time.Now()
		f()
		best = min(best, time.Since(start).Seconds())
		if i >= least && time.Since(begun).Seconds() > enough {
			break
		}
	}
	return best
}
