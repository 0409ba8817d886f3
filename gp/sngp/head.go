package sngp

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// head is the last layer: f = φ β with random features φ = Scale · cos(h W + b) of hidden units h
// [B,H], to which a layer norm may come before.
type head struct {
	Gain, Shift *graph.Param // of the layer norm, [H]; nil: none
	W           *graph.Param // frequencies, [H,m], the length scale in them
	Phase       *graph.Param // b, [m]
	Beta        *graph.Param // β, [m,C]
	Scale       float64      // factor a of the features
}

// The names of a head's arrays, in files too.
const (
	nameGain  = "sngp.gain"
	nameShift = "sngp.shift"
	nameW     = "sngp.w"
	namePhase = "sngp.phase"
	nameBeta  = "sngp.beta"
)

// normEps is ε of the layer norm, as published.
const normEps = 1e-12

// newHead returns a head of m random features of H hidden units with C outputs, without a layer
// norm. The frequencies w [H,m] and phases [m] stay as they are; β starts at zero.
func newHead(w, phase []float64, units, outputs int, scale float64, dt tensor.Dtype) *head {
	m := len(phase)
	return &head{
		W: graph.NewParam(nameW, w, dt, units, m), Phase: graph.NewParam(namePhase, phase, dt, m),
		Beta: graph.NewParam(nameBeta, make([]float64, m*outputs), dt, m, outputs), Scale: scale,
	}
}

// Normalise puts a layer norm before the random features, which starts with gain 1 and shift 0.
func (h *head) Normalise() {
	units, dt := h.W.Value.Shape()[0], h.W.Value.Dtype()
	h.Shift = graph.NewParam(nameShift, make([]float64, units), dt, units)
	h.Gain = graph.NewParam(nameGain, slices.Repeat([]float64{1}, units), dt, units)
}

// Size is m.
func (h *head) Size() int { return h.Phase.Value.Shape()[0] }

// Outputs is C.
func (h *head) Outputs() int { return h.Beta.Value.Shape()[1] }

// Trained are the parameters that are trained.
func (h *head) Trained() []*graph.Param {
	if h.Gain == nil {
		return []*graph.Param{h.Beta}
	}
	return []*graph.Param{h.Gain, h.Shift, h.Beta}
}

// Units writes the hidden units as the features take them, [B,H].
func (h *head) Units(b *graph.Builder, hidden *graph.Node) *graph.Node {
	if h.Gain == nil {
		return hidden
	}
	return layers.Normalise(b, hidden, h.Gain, h.Shift, normEps)
}

// Features writes φ [B,m] at hidden units [B,H].
func (h *head) Features(b *graph.Builder, hidden *graph.Node) *graph.Node {
	angle := b.AddBias(b.MatMul(h.Units(b, hidden), b.Param(h.W), false, false), b.Param(h.Phase))
	return b.Scale(b.Cos(angle), h.Scale)
}

// Values writes f [B,C] at features [B,m].
func (h *head) Values(b *graph.Builder, features *graph.Node) *graph.Node {
	return b.MatMul(features, b.Param(h.Beta), false, false)
}

// phases draws m phases from 0 to 2π.
func phases(m int, rng *rand.Rand) []float64 {
	out := make([]float64, m)
	for i := range out {
		out[i] = 2 * math.Pi * rng.Float64()
	}
	return out
}

// normals draws n numbers.
func normals(n int, rng *rand.Rand) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	return out
}

// orthogonal returns frequencies [H,m] in blocks of H orthogonal columns that are as long as the
// columns of lengths [H,m] (Yu and others, Orthogonal Random Features, NeurIPS 2016). blocks are
// H×H matrices of normal numbers, of which there must be enough.
func orthogonal(units, m int, blocks, lengths []float64) []float64 {
	out := make([]float64, units*m)
	for first := 0; first < m; first += units {
		q := gramSchmidt(units, blocks[first*units:(first+units)*units])
		for j := first; j < min(first+units, m); j++ {
			length := 0.0
			for i := range units {
				length = math.Hypot(length, lengths[i*m+j])
			}
			for i := range units {
				out[i*m+j] = length * q[(j-first)*units+i]
			}
		}
	}
	return out
}

// gramSchmidt returns the columns of the orthogonal factor of a [n,n], as rows. The other factor
// has a positive diagonal. Each vector is made orthogonal twice, so that rounding does not count.
func gramSchmidt(n int, a []float64) []float64 {
	q := make([]float64, n*n)
	kernel.Transpose(q, n, a, n, n, n)
	for j := range n {
		column := q[j*n : (j+1)*n]
		for range 2 {
			for k := range j {
				other := q[k*n : (k+1)*n]
				kernel.Axpy(-kernel.Dot(other, column), other, column)
			}
		}
		kernel.Scale(column, 1/math.Sqrt(kernel.Dot(column, column)), column)
	}
	return q
}

// frequencies draws the frequencies [H,m] of m features, Gaussian or orthogonal.
func frequencies(units, m int, gaussian bool, rng *rand.Rand) []float64 {
	w := normals(units*m, rng)
	if !gaussian {
		blocks := (m + units - 1) / units
		w = orthogonal(units, m, normals(blocks*units*units, rng), w)
	}
	return w
}
