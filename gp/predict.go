package gp

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// predictAtOnce bounds the inputs that [Engine.PredictAll] holds as float64 at a time. It is a
// number of whole pieces of the largest usual size.
const predictAtOnce = 1024

// Predict returns the distributions of the latent function at the inputs x [N,…], float32 or
// float64, in the units of the network. It returns ctx's error if ctx ends first. A caller that
// predicts several times keeps an [Engine]: Predict compiles the posterior in every call.
func Predict(ctx context.Context, p Posterior, x *tensor.Dense) (Gaussian, error) {
	if err := dense.CheckRows(x); err != nil {
		return Gaussian{}, err
	}
	e, err := NewEngine(p, x.Shape()[1:], EngineOptions{})
	if err != nil {
		return Gaussian{}, err
	}
	return e.PredictAll(ctx, x)
}

// PredictAll is [Engine.Predict] for inputs x [N,…] in a tensor, float32 or float64.
func (e *Engine) PredictAll(ctx context.Context, x *tensor.Dense) (Gaussian, error) {
	var all Gaussian
	err := e.Each(ctx, x, predictAtOnce, func(_ int, g Gaussian) error {
		all.Append(g)
		return nil
	})
	return all, err
}

const (
	// maxCovariances bounds the covariances [N,C,C] of a part, or the variances, in bytes.
	maxCovariances = 256 << 20
	// maxPartRows bounds the rows of a part for each processor in use, so that progress is told often. It is a
	// number of whole pieces of the engine.
	maxPartRows = 512
)

// PartRows returns the number of rows, 1 or more, that a part of predictions has, see [Engine.Each], each of which has so many
// numbers of covariances or of variances alone.
func PartRows(numbers int) int {
	return max(1, min(maxPartRows*runtime.GOMAXPROCS(0), maxCovariances/8/numbers))
}

// Each predicts at the inputs x [N,…], float32 or float64, in parts of at most rows inputs. It
// calls f with the number of the first input of each part and the predictions of the part, which
// the next part overwrites. Each ends with the error of f, or of ctx if ctx ends first.
func (e *Engine) Each(ctx context.Context, x *tensor.Dense, rows int, f func(first int, g Gaussian) error) error {
	if err := dense.CheckRows(x); err != nil {
		return err
	}
	if !slices.Equal(x.Shape()[1:], e.ask.Shape) {
		return fmt.Errorf("inputs of shape %v, expected [N,…] with %v for each", x.Shape(), e.ask.Shape)
	}
	if e.ask.Marginal { // a posterior may have covariances all the same, of which there is room for fewer rows
		one := make([]float64, e.width)
		dense.Copy(one, x, 0)
		f, err := e.formOf(ctx, one)
		if err != nil {
			return err
		}
		if !f.marginal {
			rows = min(rows, PartRows(f.outputs*f.outputs))
		}
	}
	var g Gaussian
	in := make([]float64, 0, min(rows, x.Shape()[0])*e.width)
	for first, n := 0, x.Shape()[0]; first < n; first += rows {
		count := min(rows, n-first)
		in = in[:count*e.width]
		dense.Copy(in, x, first*e.width)
		err := rowsFrom(ctx, first, e.Predict(ctx, in, &g))
		if err == nil {
			err = f(first, g)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Refresher is a [Compiled] that can be made to see parameters of its posterior that have
// changed, as the parameters of a posterior change during its fit.
type Refresher interface{ Refresh() error }

// Refresh makes later predictions see changed parameters of the posterior, where the posterior
// compiles to a [Refresher]. No prediction may be under way.
func (e *Engine) Refresh() error {
	for _, q := range e.pools {
		for range len(q.free) {
			c := <-q.free
			q.free <- c
			if r, ok := c.(Refresher); ok {
				if err := r.Refresh(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
