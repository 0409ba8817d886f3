package train

import (
	"math"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/internal/kernel"
)

// clip scales all gradients by one factor, so that the Euclidean norm of all of them together is at most limit.
// Source: Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, ICML 2013,
// algorithm 1.
func clip(params []Param, limit float64) {
	norm := 0.0
	for _, p := range params {
		if p.Grad.Dtype() == tensor.Float32 {
			norm = addedNorm(norm, floats[float32](p.Grad))
		} else {
			norm = addedNorm(norm, floats[float64](p.Grad))
		}
	}
	if norm <= limit {
		return
	}
	for _, p := range params {
		if p.Grad.Dtype() == tensor.Float32 {
			g := floats[float32](p.Grad)
			kernel.Scale(g, float32(limit/norm), g)
		} else {
			g := floats[float64](p.Grad)
			kernel.Scale(g, limit/norm, g)
		}
	}
}

// addedNorm returns the norm of g and numbers of a norm. No square overflows.
func addedNorm[T kernel.Float](norm float64, g []T) float64 {
	for _, v := range g {
		norm = math.Hypot(norm, float64(v))
	}
	return norm
}
