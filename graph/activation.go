package graph

import "math"

// Softmax returns exp x / Σ exp x along the last axis.
func (b *Builder) Softmax(x *Node) *Node { return b.Exp(b.LogSoftmax(x)) }

// Abs returns |x|. Its derivative at 0 is 0.
func (b *Builder) Abs(x *Node) *Node { return b.Add(b.ReLU(x), b.ReLU(b.Neg(x))) }

// GELU returns x·Φ(x), where Φ is the distribution function of N(0,1) (Hendrycks and Gimpel
// 2016, "Gaussian error linear units").
func (b *Builder) GELU(x *Node) *Node {
	return b.Mul(x, b.Affine(b.Erf(b.Scale(x, math.Sqrt2/2)), 0.5, 0.5))
}

// GELUTanh is GELU with a formula of tanh in place of Φ (eq. 2 of the same paper).
func (b *Builder) GELUTanh(x *Node) *Node {
	cubic := b.Mul(x, b.Affine(b.Square(x), 0.044715, 1))
	return b.Mul(x, b.Affine(b.Tanh(b.Scale(cubic, math.Sqrt(2/math.Pi))), 0.5, 0.5))
}

// SiLU returns x/(1 + e⁻ˣ), which is also called swish.
func (b *Builder) SiLU(x *Node) *Node { return b.Mul(x, b.Sigmoid(x)) }

// Mish returns x·tanh(log(1 + eˣ)) (Misra 2019, "Mish").
func (b *Builder) Mish(x *Node) *Node { return b.Mul(x, b.Tanh(b.Softplus(x))) }

// LeakyReLU returns x where x > 0 and slope·x elsewhere. Its derivative at 0 is 0.
func (b *Builder) LeakyReLU(x *Node, slope float64) *Node {
	return b.Sub(b.ReLU(x), b.Scale(b.ReLU(b.Neg(x)), slope))
}

// ELU returns x where x > 0 and α·(eˣ − 1) elsewhere (Clevert and others 2015, "Fast and
// accurate deep network learning by exponential linear units").
func (b *Builder) ELU(x *Node, alpha float64) *Node { return b.celu(x, alpha, 1) }

// CELU returns x where x > 0 and α·(e^(x/α) − 1) elsewhere (Barron 2017, "Continuously
// differentiable exponential linear units").
func (b *Builder) CELU(x *Node, alpha float64) *Node { return b.celu(x, alpha, 1/alpha) }

func (b *Builder) celu(x *Node, factor, rate float64) *Node {
	below := b.Exp(b.Scale(b.ReLU(b.Neg(x)), -rate))
	return b.Add(b.ReLU(x), b.Affine(below, factor, -factor))
}

// SELU returns γ·ELU(x) with the α and γ of Klambauer and others (2017, "Self-normalizing
// neural networks").
func (b *Builder) SELU(x *Node) *Node {
	return b.Scale(b.ELU(x, 1.6732632423543772), 1.0507009873554805)
}

// HardSigmoid returns a·x + c, but at least 0 and at most 1.
func (b *Builder) HardSigmoid(x *Node, a, c float64) *Node { return b.Clip(b.Affine(x, a, c), 0, 1) }

// HardSwish returns x·HardSigmoid(x, 1/6, 1/2) (Howard and others 2019, "Searching for
// MobileNetV3").
func (b *Builder) HardSwish(x *Node) *Node { return b.Mul(x, b.HardSigmoid(x, 1.0/6, 0.5)) }
