package valla

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// ErrJitter is wrapped where K_z stays singular however much jitter is added.
var ErrJitter = errors.New("valla: the kernel among the inducing points is singular")

// OptimalA sets L so that A = LLᵀ is the best one for the layer's Z and σ₀ under
// Gaussian noise of the given variance, for all of the inputs x [N,…]:
//
//	K_z A K_z = σ⁻² Σ_n K_zn K_nz          (paper, Prop. 2)
//
// which makes Q the posterior of the sparse Gaussian process of Titsias (2009), and
// for Z = X that of the exact linearized Laplace approximation. The algebra is in
// float64. It returns the jitter that was added to the diagonal of K_z to factor it,
// as a fraction of its mean.
func (l *Layer) OptimalA(ctx context.Context, x *tensor.Dense, noiseVariance float64) (jitter float64, err error) {
	if !(noiseVariance > 0) {
		return 0, fmt.Errorf("valla: optimal A: noise variance %g, expected a positive number", noiseVariance)
	}
	kz, s, err := l.moments(ctx, x)
	if err != nil {
		return 0, fmt.Errorf("valla: optimal A: %w", err)
	}
	m := l.Inducing()
	for i := range s {
		s[i] /= noiseVariance
	}
	r, jitter, err := factor(m, kz)
	if err != nil {
		return jitter, err
	}
	return jitter, l.setRoot(m, r, s)
}

// moments returns K_z and Σ_n Σ_c K_znc K_ncz, both [M,M].
func (l *Layer) moments(ctx context.Context, x *tensor.Dense) (kz, s []float64, err error) {
	b := graph.NewBuilder(l.Z.Value.Dtype())
	xn := b.Input("x", append([]int{PredictBatch}, x.Shape()[1:]...)...)
	t := l.Terms(b, xn)
	if b.Err() != nil {
		return nil, nil, b.Err()
	}
	f, err := graph.NewBatched(b, xn, t.Kxz)
	if err != nil {
		return nil, nil, err
	}
	m := l.Inducing()
	s = make([]float64, m*m)
	var rows []float64
	err = f.Each(ctx, x, func(_, n int, out []*tensor.Dense) error {
		rows = appendRows(rows[:0], out[0], n)
		kernel.Syrk(true, m, len(rows)/m, 1, rows, m, 1, s, m)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	p, err := graph.Compile(b, []*graph.Node{t.Kz}, graph.Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		return nil, nil, err
	}
	return graph.Floats(p.Value(t.Kz)), s, nil
}

// factor returns the Cholesky factor of k [m,m] plus the least jitter that lets it
// succeed, tried in steps of ten from 1e-14 of the mean of the diagonal.
func factor(m int, k []float64) (r []float64, jitter float64, err error) {
	mean := 0.0
	for i := range m {
		mean += k[i*m+i] / float64(m)
	}
	for jitter = 0; jitter < 1e-4; jitter = max(1e-14, 10*jitter) {
		r = append([]float64(nil), k...)
		for i := range m {
			r[i*m+i] += jitter * mean
		}
		if kernel.Cholesky(m, r, m) < 0 {
			return r, jitter, nil
		}
	}
	return nil, jitter, fmt.Errorf("%w: no Cholesky factor with jitter up to %g of its mean diagonal %g", ErrJitter, jitter, mean)
}

// setRoot sets L to the lower triangular root of A = R⁻ᵀ (R⁻¹ S R⁻ᵀ) R⁻¹. The inner
// matrix is only semi-definite, so its root is taken from its eigenvalues, and made
// triangular by an LQ factorisation, which never forms A.
func (l *Layer) setRoot(m int, r, s []float64) error {
	kernel.Trsm(false, false, m, m, r, m, s, m)
	kernel.Trsm(true, true, m, m, r, m, s, m)
	var eig mat.EigenSym
	if !eig.Factorize(symmetric(m, s), true) {
		return errors.New("valla: optimal A: the eigenvalue iteration did not converge")
	}
	var u mat.Dense
	eig.VectorsTo(&u)
	root := u.RawMatrix().Data
	for j, v := range eig.Values(nil) {
		for i := range m {
			root[i*m+j] *= math.Sqrt(max(v, 0))
		}
	}
	kernel.Trsm(false, true, m, m, r, m, root, m)
	var lq mat.LQ
	lq.Factorize(mat.NewDense(m, m, root))
	var lower mat.Dense
	lq.LTo(&lower)
	k := 0
	for i := range m {
		for j := range i + 1 {
			l.L.Set(k, lower.At(i, j))
			k++
		}
	}
	return nil
}

// symmetric copies the mean of a [m,m] and its transpose.
func symmetric(m int, a []float64) *mat.SymDense {
	sym := mat.NewSymDense(m, nil)
	for i := range m {
		for j := range i + 1 {
			sym.SetSym(i, j, 0.5*(a[i*m+j]+a[j*m+i]))
		}
	}
	return sym
}
