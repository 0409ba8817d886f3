package fmgp

import (
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// The names of a layer's parameters, in files too.
const (
	nameZ            = "fmgp.z"
	nameL            = "fmgp.l"
	nameMean         = "fmgp.surrogate_mean"
	nameLogLength    = "fmgp.log_length"
	nameLogAmplitude = "fmgp.log_amplitude"
	nameR            = "fmgp.r"
)

// ridge is what K_z gets in the surrogate's mean and in the divergence of that mean, as
// published.
const ridge = 1e-3

// sparseGP is the Gaussian process around a network: M inducing points, the variational matrix
// A = LLᵀ, the kernel, and the mean of the surrogate, which only the objective uses.
type sparseGP struct {
	Kernel *covariance  // the prior covariance
	Z      *graph.Param // inducing locations, inputs with features, [M, D+E]
	Class  []int        // the single output that each inducing point carries, [M]
	L      *graph.Param // lower triangle of L, packed row by row, [M(M+1)/2]
	Mean   *graph.Param // of the surrogate at the inducing points, [M,1]
}

// newSparseGP returns a layer with the inducing locations z [M, D+E], which it owns, L = I and a
// surrogate with mean 0. class may be nil for output 0 everywhere.
func newSparseGP(k *covariance, z *tensor.Dense, class []int) (*sparseGP, error) {
	if z.Dims() != 2 || z.Shape()[1] != k.Width() {
		return nil, fmt.Errorf("fmgp: inducing locations have shape %v, expected [M,%d]", z.Shape(), k.Width())
	}
	if dt := k.LogLength.Value.Dtype(); z.Dtype() != dt {
		return nil, fmt.Errorf("fmgp: inducing locations are %v, expected %v as the kernel", z.Dtype(), dt)
	}
	m := z.Shape()[0]
	if class == nil {
		class = make([]int, m)
	}
	if len(class) != m {
		return nil, fmt.Errorf("fmgp: %d classes for %d inducing points", len(class), m)
	}
	for i, c := range class {
		if c < 0 || c >= k.Outputs {
			return nil, fmt.Errorf("fmgp: class[%d] is %d, expected 0 to %d", i, c, k.Outputs-1)
		}
	}
	l := make([]float64, dense.Packed(m))
	for i := range m {
		l[dense.Packed(i+1)-1] = 1
	}
	return &sparseGP{
		Kernel: k, Class: class, Z: &graph.Param{Name: nameZ, Value: z},
		L:    graph.NewParam(nameL, l, z.Dtype(), len(l)),
		Mean: graph.NewParam(nameMean, make([]float64, m), z.Dtype(), m, 1),
	}, nil
}

// Params returns what a fit changes: Z, L, the surrogate's mean and the kernel's parameters.
func (l *sparseGP) Params() []*graph.Param {
	return append([]*graph.Param{l.Z, l.L, l.Mean}, l.Kernel.Params()...)
}

// wide returns a copy in float64.
func (l *sparseGP) wide() *sparseGP {
	of := func(p *graph.Param) *graph.Param { return p.Copy(tensor.Float64) }
	k := *l.Kernel
	k.LogLength, k.LogAmplitude, k.R = of(k.LogLength), of(k.LogAmplitude), of(k.R)
	return &sparseGP{Kernel: &k, Class: l.Class, Z: of(l.Z), L: of(l.L), Mean: of(l.Mean)}
}

// Inducing returns M.
func (l *sparseGP) Inducing() int { return len(l.Class) }

// termNodes holds the nodes of the posterior at a batch of B points.
type termNodes struct {
	gp.Root             // of (A⁻¹ + K_z)⁻¹
	Kx      *graph.Node // K at the points, [B,C,C]
	Kxz     *graph.Node // [B,C,M]
	Kz      *graph.Node // [M,M]
	Q       *graph.Node // the latent covariance, [B,C,C]

	Prior, Variance *graph.Node // the diagonals of Kx and of Q, [B,C], without the rest
}

// Terms writes the posterior at points u [B, D+E] into the graph:
//
//	Q  = K_x − K_xz L H⁻¹ Lᵀ K_zx
//	KL = ½ log|H| − ½ tr(K_z L H⁻¹ Lᵀ)
func (l *sparseGP) Terms(b *graph.Builder, u *graph.Node) *termNodes {
	t, k, z := &termNodes{}, l.Kernel, b.Param(l.Z)
	t.Kx, t.Kxz, t.Kz = k.Diag(b, u), k.Cross(b, u, z, l.Class), k.Gram(b, z, l.Class)
	t.Root = gp.NewRoot(b, b.Lower(b.Param(l.L)), t.Kz)
	if b.Err() != nil {
		return nil
	}
	w := rowsTimes(b, t.Kxz, b.Transpose(t.G))
	t.Q, t.Prior = b.Sub(t.Kx, b.Gram(w)), k.Variances(b, u)
	if b.Err() != nil {
		return nil
	}
	t.Variance = b.Sub(t.Prior, b.Reshape(b.SumAxis(b.Square(w), 2), t.Prior.Shape()...))
	return t
}

// rowsTimes is x·w for x [B,C,M] and w [M,k], [B,C,k].
func rowsTimes(b *graph.Builder, x, w *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	n, c, m := x.Shape()[0], x.Shape()[1], x.Shape()[2]
	return b.Reshape(b.MatMul(b.Reshape(x, n*c, m), w, false, false), n, c, w.Shape()[1])
}

// lossOptions describes the objective that a fit minimises.
type lossOptions struct {
	Likelihood likelihood.Likelihood // how targets scatter around the latent function
	Alpha      float64               // α; 1 is the published setting, 0 the evidence lower bound
	N          int                   // training points, to which a mini-batch is scaled up
	// Plain leaves the surrogate out. Nothing keeps the kernel in place then, because the mean
	// is fixed and the divergence has no term for it.
	Plain bool
}

// lossNodes holds the nodes of the objective.
type lossNodes struct {
	*termNodes             // the posterior at the mini-batch
	Data       *graph.Node // −(N/B) Σ_b ℓ_b, a scalar
	Surrogate  *graph.Node // what the surrogate adds, a scalar; nil without it
	Mean       *graph.Node // of the surrogate, [B,C]; nil without it
	Loss       *graph.Node // a scalar
}

// Loss writes the objective for a mini-batch into the graph: points u [B, D+E], targets
// y [B,W·C] and the network's outputs mean [B,C]. Without the surrogate it is
// −(N/B) Σ_b ℓ(y; mean, Q) + KL. The surrogate is a second sparse Gaussian process with the
// same covariance and a mean of its own, m = K_xz (K_z + 10⁻³I)⁻¹ q, which adds
//
//	−(N/B) Σ_b ℓ(y; m, Q) + KL + ½ qᵀ (K_z + 10⁻³I)⁻¹ q
//
// so that the kernel has to explain the targets as well (paper, section 3).
func (l *sparseGP) Loss(b *graph.Builder, u, y, mean *graph.Node, o lossOptions) *lossNodes {
	p := &lossNodes{termNodes: l.Terms(b, u)}
	if b.Err() != nil {
		return nil
	}
	data := func(mean *graph.Node) *graph.Node {
		terms := o.Likelihood.DataTerm(b, y, mean, p.Variance, o.Alpha)
		return b.Scale(b.Sum(terms), -float64(o.N)/float64(u.Shape()[0]))
	}
	p.Data = data(mean)
	if p.Loss = b.Add(p.Data, p.KL); o.Plain {
		return p
	}
	root := b.Cholesky(b.Add(p.Kz, b.Scale(b.Eye(l.Inducing()), ridge)))
	half := b.SolveLower(root, b.Param(l.Mean), false)
	p.Mean = rowsTimes(b, p.Kxz, b.SolveLower(root, half, true))
	if b.Err() != nil {
		return nil
	}
	p.Mean = b.Reshape(p.Mean, mean.Shape()...)
	own := b.Add(p.KL, b.Scale(b.Sum(b.Square(half)), 0.5))
	p.Surrogate = b.Add(data(p.Mean), own)
	p.Loss = b.Add(p.Loss, p.Surrogate)
	return p
}
