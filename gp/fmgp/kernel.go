package fmgp

import (
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// Kernel is FMGP's covariance function of a function with C outputs. A point is a row
// [x, f] of D inputs and E features of the network; E is 0 for the kernel of the inputs alone.
// With k(x,x') = a exp(−½ Σ_d (x_d − x'_d)²/ℓ_d²) and S = RRᵀ it is
//
//	E = 0:  k(x,x') S_cc'
//	E > 0:  k(x,x') S_cc' (f·f' + δ_cc')
//
// between output c at [x, f] and output c' at [x', f'].
type Kernel struct {
	Inputs, Features, Outputs int          // D, E and C
	LogLength                 *graph.Param // log ℓ, [D]
	LogAmplitude              *graph.Param // log a, [1]
	R                         *graph.Param // lower triangle of R, packed row by row, [C(C+1)/2]; nil for one output: S = 1
}

var _ gp.Kernel = (*Kernel)(nil)

// NewKernel returns the kernel as a published fit starts it: one length scale ℓ for all
// inputs, the amplitude a, and R with 1 on the diagonal and 1/e below it.
func NewKernel(inputs, features, outputs int, length, amplitude float64, dt tensor.Dtype) *Kernel {
	log := make([]float64, inputs)
	for i := range log {
		log[i] = math.Log(length)
	}
	k := &Kernel{
		Inputs: inputs, Features: features, Outputs: outputs,
		LogLength:    graph.NewParam(nameLogLength, log, dt, inputs),
		LogAmplitude: graph.NewScalar(nameLogAmplitude, math.Log(amplitude), dt),
	}
	if outputs > 1 {
		var r []float64
		for i := range outputs {
			for range i {
				r = append(r, math.Exp(-1))
			}
			r = append(r, 1)
		}
		k.R = graph.NewParam(nameR, r, dt, len(r))
	}
	return k
}

// Params returns log ℓ, log a and, where there are several outputs, R.
func (k *Kernel) Params() []*graph.Param {
	if k.R == nil {
		return []*graph.Param{k.LogLength, k.LogAmplitude}
	}
	return []*graph.Param{k.LogLength, k.LogAmplitude, k.R}
}

// Width returns D + E, the number of elements of a point.
func (k *Kernel) Width() int { return k.Inputs + k.Features }

// Amplitude returns a.
func (k *Kernel) Amplitude() float64 { return math.Exp(k.LogAmplitude.Scalar()) }

// Variance returns the mean of a S_cc over the outputs, the prior variance where E is 0.
func (k *Kernel) Variance() float64 {
	if k.R == nil {
		return k.Amplitude()
	}
	trace := 0.0
	for _, v := range k.R.Floats() {
		trace += v * v
	}
	return k.Amplitude() * trace / float64(k.Outputs)
}

// Diag implements gp.Kernel: a S ∘ (|f|² + I) at points [B, D+E], [B,C,C].
func (k *Kernel) Diag(b *graph.Builder, u *graph.Node) *graph.Node {
	if !k.takes(b, u) {
		return nil
	}
	n, c := u.Shape()[0], k.Outputs
	prior := b.Reshape(b.Mul(b.Exp(b.Param(k.LogAmplitude)), k.coupling(b)), 1, c, c)
	if k.Features == 0 {
		return b.BroadcastTo(prior, n, c, c)
	}
	f := b.Slice(u, 1, k.Inputs, k.Width())
	square := b.Reshape(b.SumAxis(b.Square(f), 1), n, 1, 1)
	return b.Mul(prior, b.Add(square, b.Reshape(b.Eye(c), 1, c, c)))
}

// Cross implements gp.Kernel: points [B, D+E] against the outputs class[m] at points
// z [M, D+E], [B,C,M].
func (k *Kernel) Cross(b *graph.Builder, u, z *graph.Node, class []int) *graph.Node {
	if !k.takes(b, u) || !k.takes(b, z) {
		return nil
	}
	n, m, c := u.Shape()[0], z.Shape()[0], k.Outputs
	carried := b.OneHot(class, c) // [M,C]
	coupling := b.Reshape(b.MatMul(k.coupling(b), carried, false, true), 1, c, m)
	near := b.Reshape(k.nearness(b, u, z), n, 1, m)
	if k.Features == 0 {
		return b.Mul(near, coupling)
	}
	same := b.Mul(coupling, b.Reshape(b.Transpose(carried), 1, c, m))
	return b.Mul(near, b.Add(b.Mul(b.Reshape(k.alike(b, u, z), n, 1, m), coupling), same))
}

// Gram implements gp.Kernel: among the outputs class[m] at points z [M, D+E], [M,M].
func (k *Kernel) Gram(b *graph.Builder, z *graph.Node, class []int) *graph.Node {
	if !k.takes(b, z) {
		return nil
	}
	carried := b.OneHot(class, k.Outputs)
	coupling := b.MatMul(b.MatMul(carried, k.coupling(b), false, false), carried, false, true)
	near := b.Mul(k.nearness(b, z, z), coupling)
	if k.Features == 0 {
		return near
	}
	return b.Mul(near, b.Add(k.alike(b, z, z), b.MatMul(carried, carried, false, true)))
}

// takes fails b unless the rows of u [B, D+E] are points.
func (k *Kernel) takes(b *graph.Builder, u *graph.Node) bool {
	if b.Err() == nil && (u.Dims() != 2 || u.Shape()[1] != k.Width()) {
		b.Failf("fmgp: points of shape %v, expected [·,%d]: %d inputs and %d features", u.Shape(), k.Width(), k.Inputs, k.Features)
	}
	return b.Err() == nil
}

// coupling is S [C,C].
func (k *Kernel) coupling(b *graph.Builder) *graph.Node {
	if k.R == nil {
		return b.Fill(1, 1, 1)
	}
	return b.Gram(b.Lower(b.Param(k.R)))
}

// nearness is k(x,x') of points [B, D+E] and [M, D+E], [B,M]. The squared distance is
// |x|² + |x'|² − 2 x·x' of the inputs in units of ℓ.
func (k *Kernel) nearness(b *graph.Builder, u, z *graph.Node) *graph.Node {
	x, y := k.scaled(b, u), k.scaled(b, z)
	if b.Err() != nil {
		return nil
	}
	half := func(v *graph.Node) *graph.Node { return b.Scale(b.SumAxis(b.Square(v), 1), -0.5) }
	rows := b.Add(half(x), b.Param(k.LogAmplitude))
	columns := b.Reshape(half(y), 1, y.Shape()[0])
	return b.Exp(b.Add(b.MatMul(x, y, false, true), b.Add(rows, columns)))
}

// scaled are the inputs of points [B, D+E] in units of ℓ, [B,D].
func (k *Kernel) scaled(b *graph.Builder, u *graph.Node) *graph.Node {
	return b.Mul(b.Slice(u, 1, 0, k.Inputs), b.Exp(b.Neg(b.Param(k.LogLength))))
}

// alike is f·f' of points [B, D+E] and [M, D+E], [B,M].
func (k *Kernel) alike(b *graph.Builder, u, z *graph.Node) *graph.Node {
	from, to := k.Inputs, k.Width()
	return b.MatMul(b.Slice(u, 1, from, to), b.Slice(z, 1, from, to), false, true)
}
