package sngp

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
)

// covariance is the covariance of the weights β given the features of the training rows, in float64. Its
// forms are
//
//	shared     s φ P⁻¹ φᵀ for each output,   P = s I + Σ_n φ_nᵀφ_n          [m,m]
//	per class  φ P_k⁻¹ φᵀ for output k,      P_k = s I + Σ_n p_k(1−p_k) φ_nᵀφ_n   C × [m,m]
//	joint      (e_k⊗φ) P⁻¹ (e_l⊗φ)ᵀ,         P = s I + Σ_n Λ_n ⊗ φ_nᵀφ_n    [Cm,Cm]
//
// where p are the probabilities at a training row and Λ = diag(p) − ppᵀ. The prior of β is
// N(0, I) with shared and N(0, I/s) otherwise.
type covariance struct {
	Form     string    // shared, per-class or joint
	Ridge    float64   // s
	Features int       // m
	Outputs  int       // C
	factors  []float64 // Cholesky factors of the precisions, below each other
}

// The forms of a covariance.
const (
	formShared   = "shared"
	formPerClass = "per-class"
	formJoint    = "joint"
)

// shape is the shape of the precisions, which stand below each other.
func (c *covariance) shape() []int {
	switch c.Form {
	case formPerClass:
		return []int{c.Outputs * c.Features, c.Features}
	case formJoint:
		return []int{c.Outputs * c.Features, c.Outputs * c.Features}
	}
	return []int{c.Features, c.Features}
}

// size returns the number of elements of the precisions. It returns a *graph.MemoryError where
// several precisions need more than limit bytes.
func (c *covariance) size(limit int64) (int, error) {
	s, copies := c.shape(), 2.0
	if need := copies * 8 * float64(s[0]) * float64(s[1]); limit > 0 && need > float64(limit) {
		need := int64(min(need, math.MaxInt64/2)) // very many features exceed what an int64 holds
		return 0, &graph.MemoryError{What: fmt.Sprintf("sngp: the %s covariance of %d features", c.Form, c.Features), Need: need, Limit: limit}
	}
	return s[0] * s[1], nil
}

// add adds n rows with features phi [n,m] and values f [n,C] of the network to precisions.
func (c *covariance) add(p, phi, f []float64) {
	m := c.Features
	n := len(phi) / m
	if c.Form == formShared {
		kernel.Syrk(true, m, n, 1, phi, m, 1, p, m)
		return
	}
	probs := append([]float64(nil), f...)
	softmax(probs, c.Outputs)
	scaled := make([]float64, len(phi))
	for k := range c.Outputs {
		if c.Form == formPerClass {
			c.weighted(scaled, phi, probs, func(p []float64) float64 { return math.Sqrt(p[k] * (1 - p[k])) })
			kernel.Syrk(true, m, n, 1, scaled, m, 1, p[k*m*m:(k+1)*m*m], m)
			continue
		}
		for l := range k + 1 {
			c.weighted(scaled, phi, probs, func(p []float64) float64 { return element(p, k, l) })
			kernel.Gemm(true, false, m, m, n, 1, phi, m, scaled, m, 1, p[k*m*c.Outputs*m+l*m:], c.Outputs*m)
		}
	}
}

// weighted writes each row of features times a weight made of its probabilities.
func (c *covariance) weighted(dst, phi, probs []float64, weight func(p []float64) float64) {
	m := c.Features
	for i := range len(phi) / m {
		kernel.Scale(dst[i*m:(i+1)*m], weight(probs[i*c.Outputs:(i+1)*c.Outputs]), phi[i*m:(i+1)*m])
	}
}

// element returns the element in row k and column l of Λ = diag(p) − ppᵀ.
func element(p []float64, k, l int) float64 {
	if k == l {
		return p[k] - p[k]*p[k]
	}
	return -p[k] * p[l]
}

// factor makes precisions without their ridge, whose lower triangles count, the factors. It
// keeps p.
func (c *covariance) factor(p []float64) error {
	order := c.shape()[1]
	for first := 0; first < len(p); first += order * order {
		block := p[first : first+order*order]
		for i := range order {
			block[i*order+i] += c.Ridge
		}
		if pivot := kernel.Cholesky(order, block, order); pivot >= 0 {
			return &graph.NotPositiveDefiniteError{Order: order, Pivot: pivot}
		}
	}
	c.factors = p
	return nil
}

// solve returns P⁻¹ of columns b [m,n], with the shared form. It overwrites b.
func (c *covariance) solve(b []float64) {
	m := c.Features
	n := len(b) / m
	kernel.Trsm(false, false, m, n, c.factors, m, b, n)
	kernel.Trsm(false, true, m, n, c.factors, m, b, n)
}

// roots writes rows whose inner products are the covariances of output k at features phi [n,m], in
// the joint form also the covariances with other outputs. It returns the width of a row.
func (c *covariance) roots(dst, phi []float64, k int) int {
	m, order := c.Features, c.shape()[1]
	n := len(phi) / m
	l, rows := c.factors, dst[:n*order]
	switch c.Form {
	case formPerClass:
		l = l[k*m*m : (k+1)*m*m]
		copy(rows, phi)
	case formJoint:
		clear(rows)
		for i := range n {
			copy(rows[i*order+k*m:], phi[i*m:(i+1)*m])
		}
	default:
		kernel.Scale(rows, math.Sqrt(c.Ridge), phi)
	}
	kernel.Trsm(true, true, n, order, l, order, rows, order)
	return order
}

// workspace is what fill needs for n inputs.
func (c *covariance) workspace(n int) []float64 { return make([]float64, c.workspaceBytes(n)/8) }

// workspaceBytes is the memory of workspace.
func (c *covariance) workspaceBytes(n int) int64 {
	if c.Form == formJoint {
		return gp.Numbers(n, c.Outputs, c.Outputs, c.Features)
	}
	return gp.Numbers(n, c.Features)
}

// fill writes the covariances cov [n,C,C] at features phi [n,m]. work is a workspace.
func (c *covariance) fill(cov, phi, work []float64) {
	outputs, n := c.Outputs, len(phi)/c.Features
	clear(cov)
	if c.Form == formJoint {
		c.fillJoint(cov, phi, work)
		return
	}
	for k := range outputs {
		w := c.Features
		if k == 0 || c.Form == formPerClass {
			w = c.roots(work, phi, k)
		}
		for i := range n {
			root := work[i*w : (i+1)*w]
			cov[(i*outputs+k)*outputs+k] = kernel.Dot(root, root)
		}
	}
}

func (c *covariance) fillJoint(cov, phi, work []float64) {
	outputs, n, order := c.Outputs, len(phi)/c.Features, c.shape()[1]
	for k := range outputs {
		c.roots(work[k*n*order:], phi, k)
	}
	for i := range n {
		for k := range outputs {
			for l := range k + 1 {
				v := kernel.Dot(work[(k*n+i)*order:(k*n+i+1)*order], work[(l*n+i)*order:(l*n+i+1)*order])
				cov[(i*outputs+k)*outputs+l], cov[(i*outputs+l)*outputs+k] = v, v
			}
		}
	}
}

// between writes the covariances cov [nC,nC] of all outputs at all inputs.
func (c *covariance) between(cov, phi []float64) {
	outputs, n, order := c.Outputs, len(phi)/c.Features, c.shape()[1]
	clear(cov)
	all := make([][]float64, outputs)
	block := make([]float64, n*n)
	for k := range all {
		all[k] = make([]float64, n*order)
		c.roots(all[k], phi, k)
		for l := range k + 1 {
			if l < k && c.Form != formJoint {
				continue
			}
			kernel.Gemm(false, true, n, n, order, 1, all[k], order, all[l], order, 0, block, n)
			for i := range n {
				for j := range n {
					a, b := i*outputs+k, j*outputs+l
					cov[a*n*outputs+b], cov[b*n*outputs+a] = block[i*n+j], block[i*n+j]
				}
			}
		}
	}
}
