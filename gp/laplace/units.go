package laplace

import (
	"github.com/go-valla/valla/internal/kernel"
)

// manyOutputs is the number of outputs from which on [kfac] looks for cotangents that are unit vectors. The sum over a row
// takes C³ multiplications without, and C² with them.
const manyOutputs = 64

// units reports whether the cotangents v [count·C,width] of the examples are the unit vectors e_1 … e_C for each: those of
// a last dense layer.
func units[T kernel.Float](v []T, c, width int) bool {
	if width != c {
		return false
	}
	for i := range len(v) / c {
		for j, x := range v[i*c : (i+1)*c] {
			if x != 0 && (j != i%c || x != 1) || x == 0 && j == i%c {
				return false
			}
		}
	}
	return true
}

// addUnits adds Σ_n Σ_k w_nk (e_k − m_n)(e_k − m_n)ᵀ of count examples to the lower triangle of sum [C,C]. With
// s = Σ_k w_k it is diag(w) − w mᵀ − m wᵀ + s m mᵀ for each. buf has 4·count·C numbers at least.
func addUnits[T kernel.Float](sum, buf []T, l *lambda, count, c int) {
	half := count * c
	u, v := buf[:2*half], buf[2*half:4*half]
	for i := range count {
		w, m := l.weights[i*c:(i+1)*c], l.mean[i*c:(i+1)*c]
		total := 0.0
		for _, x := range w {
			total += x
		}
		for k, x := range w {
			at := i*c + k
			u[at], u[half+at] = T(x), T(m[k])
			v[at], v[half+at] = T(-m[k]), T(total*m[k]-x)
			sum[k*c+k] += T(x)
		}
	}
	addLower(sum, c, u, v, c)
}
