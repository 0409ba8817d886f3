package likelihood

import (
	"math"

	"github.com/go-valla/valla/graph"
	"gonum.org/v1/gonum/mathext"
	"gorgonia.org/tensor"
)

// Written is a predictive distribution as nodes of a graph, [B,T] each, in the units of the network.
type Written struct {
	Mean      *graph.Node                     // mean
	Variance  *graph.Node                     // variance
	Epistemic *graph.Node                     // see [Epistemic]
	Probs     *graph.Node                     // probabilities of the classes 0…K−1 [B,T,K]; nil for numbers and counts
	Quantile  func(p float64) *graph.Node     // nil: quantiles have no closed form
	CDF       func(y *graph.Node) *graph.Node // for numbers with quantiles
}

// writer is a Scalar whose predictive distribution for f ~ N(mean, q) has a form in nodes.
type writer interface {
	write(b *graph.Builder, mean, q *graph.Node) Written
}

// Write writes the predictive distribution of a likelihood for latent values N(mean, q), [B,T] each; ok is false if there is no
// form in nodes.
func Write(l Likelihood, b *graph.Builder, mean, q *graph.Node) (w Written, ok bool) {
	s, _ := Of(l)
	of, ok := s.(writer)
	if !ok || b.Err() != nil {
		return Written{}, ok
	}
	return of.write(b, mean, q), true
}

// WriteNormal writes N(mean, variance), of which q is epistemic.
func WriteNormal(b *graph.Builder, mean, variance, q *graph.Node) Written {
	sd := b.Sqrt(variance)
	return Written{
		Mean: mean, Variance: variance, Epistemic: q,
		Quantile: func(p float64) *graph.Node {
			return b.Add(mean, b.Scale(sd, mathext.NormalQuantile(p)))
		},
		CDF: func(y *graph.Node) *graph.Node {
			return b.Affine(b.Erf(b.Scale(b.Div(b.Sub(y, mean), sd), 1/math.Sqrt2)), 0.5, 0.5)
		},
	}
}

func (m censored) write(b *graph.Builder, mean, q *graph.Node) Written {
	return WriteNormal(b, mean, b.Affine(q, 1, m.NoiseVariance()), q)
}

func (m heteroscedastic) write(b *graph.Builder, mean, q *graph.Node) Written {
	return m.noise.(writer).write(b, mean, q)
}

// write: a mixture of several parts has moments in closed form, but no quantiles.
func (m mixture) write(b *graph.Builder, mean, q *graph.Node) Written {
	d := m.given().normals
	at, variance := d.Mean(), d.Variance()
	w := WriteNormal(b, b.Affine(mean, 1, at), b.Affine(q, 1, variance), q)
	if len(d.w) > 1 {
		w.Quantile, w.CDF = nil, nil
	}
	return w
}

func (t StudentT) write(b *graph.Builder, mean, q *graph.Node) Written {
	return Written{Mean: mean, Variance: b.Affine(q, 1, t.given().Variance(0)), Epistemic: q}
}

func (m count) write(b *graph.Builder, mean, q *graph.Node) Written {
	centre, square := b.Exp(b.Add(mean, b.Scale(q, 0.5))), b.Scale(b.Add(mean, q), 2) // log E μ²
	share := b.Mul(b.Tanh(b.Scale(q, 0.5)), b.Affine(b.Exp(b.Scale(q, -1)), 1, 1))    // 1 − e^−q, with all digits
	known := b.Exp(b.Add(square, b.Log(share)))
	variance, most := b.Add(centre, known), math.MaxFloat64
	if m.logSize != nil {
		variance = b.Add(variance, b.Exp(b.Affine(square, 1, -m.logSize.At(0))))
	}
	if b.Dtype() == tensor.Float32 {
		most = math.MaxFloat32
	}
	return Written{Mean: centre, Variance: variance, Epistemic: b.Clip(known, math.Inf(-1), most)} // ∞ − ∞ would be NaN
}

func (m bernoulli) write(b *graph.Builder, mean, q *graph.Node) Written {
	return writeFinite(b, []float64{0}, mean, q)
}

func (o ordinal) write(b *graph.Builder, mean, q *graph.Node) Written {
	return writeFinite(b, o.thresholds(), mean, q)
}

// writeFinite writes classes with P(Y ≤ k | f) = σ(b_k − f) for thresholds b.
func writeFinite(b *graph.Builder, thresholds []float64, mean, q *graph.Node) Written {
	below, expected := make([]*graph.Node, len(thresholds)), func(f *graph.Node) (sum *graph.Node) {
		for _, at := range thresholds {
			sum = b.Plus(sum, b.Sigmoid(b.Affine(f, 1, -at)))
		}
		return sum
	}
	for k, at := range thresholds {
		below[k] = expectation(b, mean, q, func(f *graph.Node) *graph.Node { return b.Sigmoid(b.Affine(f, -1, at)) })
	}
	w := Written{Epistemic: spread(b, mean, q, expected)}
	var probs []*graph.Node
	rest := b.Affine(mean, 0, 1)
	var second *graph.Node
	for k := len(thresholds); k >= 0; k-- {
		under := b.Affine(mean, 0, 0)
		if k > 0 {
			under = below[k-1]
		}
		p := b.Sub(rest, under)
		rest = under
		w.Mean, second = b.Plus(w.Mean, b.Scale(p, float64(k))), b.Plus(second, b.Scale(p, float64(k*k)))
		probs = append([]*graph.Node{column(b, p)}, probs...)
	}
	w.Variance = b.Sub(second, b.Square(w.Mean))
	w.Quantile = func(p float64) (sum *graph.Node) {
		for _, under := range below {
			sum = b.Plus(sum, b.Step(b.Affine(under, -1, p)))
		}
		return sum
	}
	if b.Err() == nil {
		w.Probs = b.Concat(2, probs...)
	}
	return w
}

// column is x [B,T] as [B,T,1].
func column(b *graph.Builder, x *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(x, append(x.Shape().Clone(), 1)...)
}

// expectation writes E g(f) for f ~ N(mean, q) by the dense grid.
func expectation(b *graph.Builder, mean, q *graph.Node, g func(f *graph.Node) *graph.Node) *graph.Node {
	if b.Err() != nil {
		return nil
	}
	row := func(name string, v []float64) *graph.Node {
		return b.Const("likelihood "+name, v, 1, 1, densePoints)
	}
	f := b.Add(column(b, mean), b.Mul(column(b, b.Sqrt(q)), row("u", dense.u)))
	sum := b.SumAxis(b.Mul(g(f), row("w", denseWeights)), 2)
	if b.Err() != nil {
		return nil
	}
	return b.Reshape(sum, mean.Shape()...)
}

// spread writes the variance of g(f) as [Epistemic] computes it.
func spread(b *graph.Builder, mean, q *graph.Node, g func(f *graph.Node) *graph.Node) *graph.Node {
	centre := column(b, expectation(b, mean, q, g))
	return expectation(b, mean, q, func(f *graph.Node) *graph.Node { return b.Square(b.Sub(g(f), centre)) })
}
