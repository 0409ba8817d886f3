package fmgp

import (
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"gorgonia.org/tensor"
)

// covariance is FMGP's covariance function of a function with C outputs. A point is a row
// [x, f] of D inputs and E features of the network; E is 0 for the kernel of the inputs alone.
// With k(x,x') = a exp(−½ Σ_d (x_d − x'_d)²/ℓ_d²) and S = RRᵀ it is
//
//	E = 0:  k(x,x') S_cc'
//	E > 0:  k(x,x') S_cc' (f·f' + δ_cc')
//
// between output c at [x, f] and output c' at [x', f'].
type covariance struct {
	Inputs, Features, Outputs int          // D, E and C
	LogLength                 *graph.Param // log ℓ, [D]
	LogAmplitude              *graph.Param // log a, [1]
	R                         *graph.Param // lower triangle of R, packed row by row, [C(C+1)/2]; nil for one output: S = 1
}

var _ gp.VarianceKernel = (*covariance)(nil)

// newCovariance returns the kernel as a published fit starts it: one length scale ℓ for all
// inputs, the amplitude a, and R with 1 on the diagonal and 1/e below it.
func newCovariance(inputs, features, outputs int, length, amplitude float64, dt tensor.Dtype) *covariance {
	log := make([]float64, inputs)
	for i := range log {
		log[i] = math.Log(length)
	}
	k := &covariance{
		Inputs: inputs, Features: features, Outputs: outputs,
		LogLength:    graph.NewParam(nameLogLength, log, dt, inputs),
		LogAmplitude: graph.NewParam(nameLogAmplitude, []float64{math.Log(amplitude)}, dt, 1),
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
func (k *covariance) Params() []*graph.Param {
	if k.R == nil {
		return []*graph.Param{k.LogLength, k.LogAmplitude}
	}
	return []*graph.Param{k.LogLength, k.LogAmplitude, k.R}
}

// Width returns D + E, the number of elements of a point.
func (k *covariance) Width() int { return k.Inputs + k.Features }

// Amplitude returns a.
func (k *covariance) Amplitude() float64 { return math.Exp(k.LogAmplitude.At(0)) }

// Variance returns the mean of a S_cc over the outputs, the prior variance where E is 0.
func (k *covariance) Variance() float64 {
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
func (k *covariance) Diag(b *graph.Builder, u *graph.Node) *graph.Node {
	if !k.takes(b, u) {
		return nil
	}
	n, c := u.Shape()[0], k.Outputs
	prior := b.Reshape(b.Mul(b.Exp(b.Param(k.LogAmplitude)), k.coupling(b)), 1, c, c)
	if k.Features == 0 {
		return b.BroadcastTo(prior, n, c, c)
	}
	square := b.Reshape(b.SumAxis(b.Square(k.features(b, u)), 1), n, 1, 1)
	return b.Mul(prior, b.Add(square, b.Reshape(b.Eye(c), 1, c, c)))
}

// Variances implements gp.VarianceKernel: a S_cc (|f|² + 1) at points [B, D+E], [B,C].
func (k *covariance) Variances(b *graph.Builder, u *graph.Node) *graph.Node {
	if !k.takes(b, u) {
		return nil
	}
	n, prior := u.Shape()[0], b.Reshape(b.Exp(b.Param(k.LogAmplitude)), 1, 1)
	if k.R != nil {
		prior = b.Mul(prior, b.Reshape(b.SumAxis(b.Square(b.Lower(b.Param(k.R))), 1), 1, k.Outputs))
	}
	if k.Features == 0 {
		return b.BroadcastTo(prior, n, k.Outputs)
	}
	square := b.Affine(b.SumAxis(b.Square(k.features(b, u)), 1), 1, 1) // [B,1]
	return b.Mul(prior, b.Reshape(square, n, 1))
}

// Cross implements gp.Kernel: points [B, D+E] against the outputs class[m] at points
// z [M, D+E], [B,C,M].
func (k *covariance) Cross(b *graph.Builder, u, z *graph.Node, class []int) *graph.Node {
	if !k.takes(b, u) || !k.takes(b, z) {
		return nil
	}
	n, m, c := u.Shape()[0], z.Shape()[0], k.Outputs
	carried := b.OneHot(class, c) // [M,C]
	coupling := b.Reshape(k.coupled(b, carried), 1, c, m)
	near := b.Reshape(k.between(b, u, z), n, 1, m)
	if k.Features == 0 {
		return b.Mul(near, coupling)
	}
	same := b.Mul(coupling, b.Reshape(b.Transpose(carried), 1, c, m))
	alike := b.MatMul(k.features(b, u), k.features(b, z), false, true)
	return b.Mul(near, b.Add(b.Mul(b.Reshape(alike, n, 1, m), coupling), same))
}

// Gram implements gp.Kernel: among the outputs class[m] at points z [M, D+E], [M,M].
func (k *covariance) Gram(b *graph.Builder, z *graph.Node, class []int) *graph.Node {
	if !k.takes(b, z) {
		return nil
	}
	carried := b.OneHot(class, k.Outputs)
	near := b.Mul(k.among(b, z), b.MatMul(carried, k.coupled(b, carried), false, false))
	if k.Features == 0 {
		return near
	}
	return b.Mul(near, b.Add(b.Gram(k.features(b, z)), b.MatMul(carried, carried, false, true)))
}

// takes fails b unless the rows of u [B, D+E] are points.
func (k *covariance) takes(b *graph.Builder, u *graph.Node) bool {
	if b.Err() == nil && (u.Dims() != 2 || u.Shape()[1] != k.Width()) {
		b.Failf("fmgp: points of shape %v, expected [·,%d]: %d inputs and %d features", u.Shape(), k.Width(), k.Inputs, k.Features)
	}
	return b.Err() == nil
}

// coupling is S [C,C].
func (k *covariance) coupling(b *graph.Builder) *graph.Node {
	if k.R == nil {
		return b.Fill(1, 1, 1)
	}
	return b.Gram(b.Lower(b.Param(k.R)))
}

// coupled is S between all outputs and the outputs that carried [M,C] names, [C,M].
func (k *covariance) coupled(b *graph.Builder, carried *graph.Node) *graph.Node {
	if k.R == nil {
		return b.Transpose(carried)
	}
	r := b.Lower(b.Param(k.R))
	return b.MatMul(r, b.MatMul(carried, r, false, false), false, true)
}

// between is k(x,z) of points u [B, D+E] and z [M, D+E], [B,M]. The squared distance in units
// of ℓ is |x|² + |z|² − 2 x·z. As x needs no gradient as a rule, the scales go to z: x stands
// in products with z/ℓ² and x² in products with 1/ℓ².
func (k *covariance) between(b *graph.Builder, u, z *graph.Node) *graph.Node {
	x, scale := k.inputs(b, u), k.scale(b)
	near := b.Mul(k.inputs(b, z), scale)
	if b.Err() != nil {
		return nil
	}
	rows := b.MatMul(b.Square(x), b.Reshape(b.Square(scale), k.Inputs, 1), false, false)
	columns := b.Reshape(b.SumAxis(b.Square(near), 1), 1, near.Shape()[0])
	return k.exp(b, b.MatMul(x, b.Mul(near, scale), false, true), rows, columns)
}

// among is k(z,z') of points z [M, D+E], [M,M]. Its diagonal is a without rounding.
func (k *covariance) among(b *graph.Builder, z *graph.Node) *graph.Node {
	dots := b.Gram(b.Mul(k.inputs(b, z), k.scale(b)))
	if b.Err() != nil {
		return nil
	}
	m, squares := dots.Shape()[0], b.Diag(dots)
	return k.exp(b, dots, b.Reshape(squares, m, 1), b.Reshape(squares, 1, m))
}

// exp is a exp(−½ (rows + columns) + dots), where rows and columns hold squared norms.
func (k *covariance) exp(b *graph.Builder, dots, rows, columns *graph.Node) *graph.Node {
	rows = b.Add(b.Scale(rows, -0.5), b.Param(k.LogAmplitude))
	return b.Exp(b.Add(dots, b.Add(rows, b.Scale(columns, -0.5))))
}

// scale is 1/ℓ, [D].
func (k *covariance) scale(b *graph.Builder) *graph.Node { return b.Exp(b.Neg(b.Param(k.LogLength))) }

// inputs are x [B,D] and features f [B,E] of points u [B, D+E].
func (k *covariance) inputs(b *graph.Builder, u *graph.Node) *graph.Node {
	if k.Features == 0 {
		return u
	}
	return b.Slice(u, 1, 0, k.Inputs)
}

func (k *covariance) features(b *graph.Builder, u *graph.Node) *graph.Node {
	return b.Slice(u, 1, k.Inputs, k.Width())
}
