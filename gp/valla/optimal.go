package valla

import (
	"context"
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// OptimalA sets L so that A = LLᵀ is the best one for the layer's Z and σ₀ under
// Gaussian noise of the given variance, for all of the inputs x [N,…]:
//
//	K_z A K_z = σ⁻² Σ_n K_zn K_nz          (paper, Prop. 2)
//
// With this A, Q is the posterior of the sparse Gaussian process of Titsias (2009), and for Z = X
// the posterior of the exact linearized Laplace approximation. The algebra is in
// float64. It returns the jitter that was added to the diagonal of K_z to factor it,
// as a fraction of its mean.
func (l *Layer) OptimalA(ctx context.Context, x *tensor.Dense, noiseVariance float64) (jitter float64, err error) {
	root, jitter, err := l.observed(ctx, x, noiseVariance, 0, nil)
	if err == nil {
		l.setL(lowerRoot(l.Inducing(), root))
	}
	return jitter, err
}

// addRows adds to A = LLᵀ the matrix that OptimalA gives for further inputs x [N,…], so that
// K_z A K_z grows by σ⁻² Σ_n K_zn K_nz. Where A was best for some inputs, it is then best for these
// inputs and x together. The pass takes at most limit bytes; 0 means no limit.
// seen, if not nil, gets the number of inputs so far.
func (l *Layer) addRows(ctx context.Context, x *tensor.Dense, noiseVariance float64, limit int64, seen func(int)) (jitter float64, err error) {
	root, jitter, err := l.observed(ctx, x, noiseVariance, limit, seen)
	if err == nil {
		m := l.Inducing()
		rows := make([]float64, m*m) // the transpose of root
		kernel.Transpose(rows, m, root, m, m, m)
		l.setL(lowerRoot(m, beside(m, dense.UnpackLower(m, l.L.Floats()), rows)))
	}
	return jitter, err
}

// observed returns a root [M,M] of K_z⁻¹ (σ⁻² Σ_n K_zn K_nz) K_z⁻¹.
func (l *Layer) observed(ctx context.Context, x *tensor.Dense, noiseVariance float64, limit int64, seen func(int)) (root []float64, jitter float64, err error) {
	if !(noiseVariance > 0) {
		return nil, 0, fmt.Errorf("valla: optimal A: noise variance %g, expected a positive number", noiseVariance)
	}
	if dt := l.Z.Value.Dtype(); x.Dtype() != dt {
		return nil, 0, fmt.Errorf("valla: optimal A: inputs are %v, expected %v as the inducing inputs", x.Dtype(), dt)
	}
	kz, err := l.gram()
	if err != nil {
		return nil, 0, fmt.Errorf("valla: optimal A: %w", err)
	}
	m := l.Inducing()
	r, jitter, err := gp.Factor(m, kz, 0)
	if err != nil {
		return nil, jitter, fmt.Errorf("valla: optimal A: %w", err)
	}
	if root, err = l.dataRoot(ctx, x, r, limit, seen); err != nil {
		return nil, jitter, fmt.Errorf("valla: optimal A: %w", err)
	}
	for i := range root {
		root[i] /= math.Sqrt(noiseVariance)
	}
	kernel.Trsm(false, true, m, m, r, m, root, m)
	return root, jitter, nil
}

// gram returns K_z, [M,M], computed in float64.
func (l *Layer) gram() ([]float64, error) {
	kz, err := l.wideGram()
	kernel.Scale(kz, l.PriorStd()*l.PriorStd(), kz)
	return kz, err
}

// dataRoot returns a root of Σ_n R⁻¹ K_zn K_nz R⁻ᵀ, [M,M], lower triangular. It is
// updated batch by batch with orthogonal transformations: forming the sum itself
// would lose half of the digits.
func (l *Layer) dataRoot(ctx context.Context, x *tensor.Dense, r []float64, limit int64, seen func(int)) ([]float64, error) {
	if limit == 0 {
		limit = math.MaxInt64
	}
	f, err := graph.NewBatchedWithin("valla: the kernel of a batch of inputs", predictBatch, limit, func(size int) (graph.Pass, error) {
		b := wideBuilder()
		xn := b.Input("x", append([]int{size}, x.Shape()[1:]...)...)
		return graph.Pass{Builder: b, X: xn, Outputs: []*graph.Node{l.scaledCross(b, xn)}}, b.Err()
	})
	if err != nil {
		return nil, err
	}
	m := l.Inducing()
	root := make([]float64, m*m)
	err = f.Each(ctx, graph.Convert(x, tensor.Float64), func(first, n int, out []*tensor.Dense) error {
		rows := dense.AppendRows(nil, out[0], n)
		kernel.Trsm(true, true, len(rows)/m, m, r, m, rows, m) // K_nz R⁻ᵀ
		root = lowerRoot(m, beside(m, root, rows))
		if seen != nil {
			seen(first + n)
		}
		return nil
	})
	return root, err
}

// beside returns [root, rowsᵀ], [m, m+n], for root [m,m] and rows [n,m].
func beside(m int, root, rows []float64) []float64 {
	n := len(rows) / m
	out := make([]float64, m*(m+n))
	for i := range m {
		row := out[i*(m+n) : (i+1)*(m+n)]
		copy(row, root[i*m:(i+1)*m])
		for j := range n {
			row[m+j] = rows[j*m+i]
		}
	}
	return out
}

// lowerRoot returns the lower triangular L [m,m] with LLᵀ = a·aᵀ, for a [m,n], n ≥ m.
func lowerRoot(m int, a []float64) []float64 {
	var lq mat.LQ
	lq.Factorize(mat.NewDense(m, len(a)/m, a))
	var lower mat.Dense
	lq.LTo(&lower)
	out := make([]float64, m*m)
	for i := range m {
		for j := range i + 1 {
			out[i*m+j] = lower.At(i, j)
		}
	}
	return out
}

// setL packs a lower triangle into the parameter L.
func (l *Layer) setL(full []float64) {
	graph.Unflat([]*graph.Param{l.L}, dense.PackLower(l.Inducing(), full))
}
