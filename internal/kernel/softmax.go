package kernel

// Softmax sets p to exp(f)/Σ exp(f), computed without overflow. p may be f.
func Softmax(p, f []float64) {
	AddScalar(p, -Largest(f), f)
	Exp(p, p)
	Scale(p, 1/Sum(p), p)
}
