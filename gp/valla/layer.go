package valla

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Layer is the Gaussian process that sits on a network: M inducing points, the
// variational matrix A = LLᵀ and the prior variance σ₀². It is written into the
// network's graph by [Layer.Terms] and [Layer.Loss].
type Layer struct {
	Kernel      gp.Kernel    // the prior covariance for σ₀ = 1
	Z           *graph.Param // inducing inputs, [M, …]
	Class       []int        // the single output that each inducing point carries, [M]
	L           *graph.Param // lower triangle of L, packed row by row, [M(M+1)/2]
	LogPriorStd *graph.Param // log σ₀, [1]
}

// NewLayer returns a layer with the inducing inputs z [M,…], which it owns, L = I and
// σ₀ = 1. class may be nil for output 0 everywhere, as in regression.
func NewLayer(k gp.Kernel, z *tensor.Dense, class []int) (*Layer, error) {
	if z.Dims() < 2 {
		return nil, fmt.Errorf("valla: inducing inputs have shape %v, expected [M,…]", z.Shape())
	}
	if dt := z.Dtype(); dt != tensor.Float32 && dt != tensor.Float64 {
		return nil, fmt.Errorf("valla: inducing inputs are %v, expected float32 or float64", dt)
	}
	m := z.Shape()[0]
	l := make([]float64, dense.Packed(m))
	for i := range m {
		l[dense.Packed(i+1)-1] = 1
	}
	return layerOf(k, z, class, graph.NewParam(nameL, l, z.Dtype(), len(l)).Value, graph.NewParam("", []float64{0}, z.Dtype(), 1).Value)
}

// layerOf returns a layer of arrays that suit each other, which it owns.
func layerOf(k gp.Kernel, z *tensor.Dense, class []int, l, logPriorStd *tensor.Dense) (*Layer, error) {
	m := z.Shape()[0]
	if class == nil {
		class = make([]int, m)
	}
	if len(class) != m {
		return nil, fmt.Errorf("valla: %d classes for %d inducing points", len(class), m)
	}
	for i, c := range class {
		if c < 0 {
			return nil, fmt.Errorf("valla: class[%d] is %d, expected an output's number from 0", i, c)
		}
	}
	return &Layer{
		Kernel: k, Class: class,
		Z:           &graph.Param{Name: nameZ, Value: z},
		L:           &graph.Param{Name: nameL, Value: l},
		LogPriorStd: &graph.Param{Name: nameLogPriorStd, Value: logPriorStd},
	}, nil
}

// Params returns Z, L and log σ₀.
func (l *Layer) Params() []*graph.Param { return []*graph.Param{l.Z, l.L, l.LogPriorStd} }

// Inducing returns M.
func (l *Layer) Inducing() int { return len(l.Class) }

// PriorStd returns σ₀.
func (l *Layer) PriorStd() float64 { return math.Exp(l.LogPriorStd.At(0)) }

// Terms holds the nodes of the variational posterior at a batch of B inputs.
type Terms struct {
	gp.Root                   // of (A⁻¹ + K_z)⁻¹
	PriorVariance *graph.Node // σ₀², [1]
	Kx            *graph.Node // σ₀² κ(x_b,x_b), [B,C,C]
	Kxz           *graph.Node // [B,C,M]
	Kz            *graph.Node // [M,M]
	L             *graph.Node // [M,M] lower triangular
	W             *graph.Node // K_xz Gᵀ, [B,C,M]
	Q             *graph.Node // K_x − W Wᵀ, the latent covariance, [B,C,C]
	Variance      *graph.Node // the diagonals of Q, [B,C], without the rest of Q
}

// Terms writes the posterior at x [B,…] into the graph:
//
//	Q  = K_x − K_xz L H⁻¹ Lᵀ K_zx                (paper, Prop. 1; A is never inverted)
//	KL = ½ log|H| − ½ tr(K_z L H⁻¹ Lᵀ)
func (l *Layer) Terms(b *graph.Builder, x *graph.Node) *Terms {
	p := l.inducing(b)
	p.Kx, p.Kxz = b.Mul(p.PriorVariance, l.Kernel.Diag(b, x)), l.scaledCross(b, x)
	if b.Err() != nil {
		return nil
	}
	n, c, m := p.Kxz.Shape()[0], p.Kxz.Shape()[1], p.Kxz.Shape()[2]
	p.W = b.Reshape(b.MatMul(b.Reshape(p.Kxz, n*c, m), p.G, false, true), n, c, m)
	p.Q = b.Sub(p.Kx, b.Gram(p.W))
	p.Variance = b.Sub(b.Mul(p.PriorVariance, gp.Variances(l.Kernel, b, x)), b.Reshape(b.SumTo(b.Square(p.W), n, c, 1), n, c))
	return p
}

// inducing writes what depends on the layer's own parameters only.
func (l *Layer) inducing(b *graph.Builder) *Terms {
	p := &Terms{}
	p.PriorVariance = l.priorVariance(b)
	p.Kz = b.Mul(p.PriorVariance, l.Kernel.Gram(b, b.Param(l.Z), l.Class))
	p.L = b.Lower(b.Param(l.L))
	p.Root = gp.NewRoot(b, p.L, p.Kz)
	return p
}

// priorVariance is σ₀², [1].
func (l *Layer) priorVariance(b *graph.Builder) *graph.Node {
	return b.Exp(b.Scale(b.Param(l.LogPriorStd), 2))
}

// scaledCross is K_xz, [B,C,M].
func (l *Layer) scaledCross(b *graph.Builder, x *graph.Node) *graph.Node {
	return b.Mul(l.priorVariance(b), l.Kernel.Cross(b, x, b.Param(l.Z), l.Class))
}

// Loss holds the nodes of the training objective.
type Loss struct {
	*Terms             // the posterior at the mini-batch
	Mean   *graph.Node // the network's outputs, [B,C]
	Data   *graph.Node // −(N/B) Σ_b ℓ_b, a scalar
	Loss   *graph.Node // Data + KL, a scalar
}

// Objective describes the objective that a fit minimises.
type Objective struct {
	Likelihood likelihood.Likelihood // how targets scatter around the latent function
	Alpha      *float64              // α; nil means 1, the published setting; 0 is the evidence lower bound
	N          int                   // training points, to which a mini-batch is scaled up
}

// alphaOf returns α, which is 1 for nil.
func alphaOf(alpha *float64) float64 {
	if alpha == nil {
		return 1
	}
	return *alpha
}

// Loss writes the objective −(N/B) Σ_b ℓ_b + KL for a mini-batch into the graph:
// x [B,…], targets y [B,C] and the network's outputs mean [B,C] at x. It is a plain
// scalar node, to which terms may be added.
func (l *Layer) Loss(b *graph.Builder, x, y, mean *graph.Node, o Objective) *Loss {
	p := l.Terms(b, x)
	if b.Err() != nil {
		return nil
	}
	terms := o.Likelihood.DataTerm(b, y, mean, p.Variance, alphaOf(o.Alpha))
	data := b.Scale(b.Sum(terms), -float64(o.N)/float64(x.Shape()[0]))
	return &Loss{Terms: p, Mean: mean, Data: data, Loss: b.Add(data, p.KL)}
}
