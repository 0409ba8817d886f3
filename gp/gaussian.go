package gp

import (
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// Gaussian is the predictive distribution of the latent function, which is the network's
// output without observation noise, at N inputs. Each input has one Gaussian over the C
// outputs. The slices may be used again for later predictions.
type Gaussian struct {
	Mean []float64 // [N,C]
	Cov  []float64 // [N,C,C]; [N,C] where Marginal is not 0
	// Marginal is C where Cov has the variances of the outputs alone, see [Request], and 0 where it has their covariances.
	Marginal int
	// Epistemic [N,C], from 0 to 1, are the shares of the variances of the targets, noise
	// included, that more data would take away. A method needs them where it lets the noise of
	// the targets into Cov. An empty slice stands for shares that come to the whole of Cov.
	Epistemic []float64
	// Probs [N,C] are class probabilities that the posterior computes itself, such as the mean
	// of softmax over draws of the weights. An empty slice stands for the probabilities that
	// follow from Mean and Cov, see [Probit].
	Probs []float64
	// LogScale [N,C] are logarithms of own scales of the inputs, see [Spread]: at an input the standard
	// deviation of the targets, the noise included, is e^LogScale times what Cov and the noise say. An empty
	// slice stands for zeros.
	LogScale []float64
	// Unit [N,C] are the units in which Mean and Cov count at each input, see [InUnits]. An empty slice stands for ones.
	Unit []float64
}

// Outputs returns C, or 0 without inputs.
func (g Gaussian) Outputs() int {
	if g.Marginal > 0 {
		return g.Marginal
	}
	return len(g.Cov) / max(1, len(g.Mean))
}

// N returns the number of inputs.
func (g Gaussian) N() int { return len(g.Mean) / max(1, g.Outputs()) }

// Resize makes room for n inputs with c outputs, with Epistemic or without, and without Probs, LogScale and Unit.
// The contents of the slices are undefined afterwards.
func (g *Gaussian) Resize(n, c int, epistemic bool) { g.ResizeFor(n, c, epistemic, false) }

// ResizeFor is Resize for variances alone, if marginal says so, or for covariances.
func (g *Gaussian) ResizeFor(n, c int, epistemic, marginal bool) {
	numbers := n * c * c
	if g.Marginal = 0; marginal {
		numbers, g.Marginal = n*c, c
	}
	g.Mean, g.Cov, g.Epistemic, g.Probs = dense.Resized(g.Mean, n*c), dense.Resized(g.Cov, numbers), g.Epistemic[:0], g.Probs[:0]
	g.LogScale, g.Unit = g.LogScale[:0], g.Unit[:0]
	if epistemic {
		g.Epistemic = dense.Resized(g.Epistemic, n*c)
	}
}

// ResizeProbs makes room for the Probs of the inputs in Mean.
func (g *Gaussian) ResizeProbs() { g.Probs = dense.Resized(g.Probs, len(g.Mean)) }

// ResizeLogScale makes room for the LogScale of the inputs in Mean.
func (g *Gaussian) ResizeLogScale() { g.LogScale = dense.Resized(g.LogScale, len(g.Mean)) }

// ResizeUnit makes room for the Unit of the inputs in Mean.
func (g *Gaussian) ResizeUnit() { g.Unit = dense.Resized(g.Unit, len(g.Mean)) }

// Rows returns the distributions at n inputs from number first on, in the memory of g.
func (g Gaussian) Rows(first, n int) Gaussian {
	c, w := g.Outputs(), g.covWidth()
	out := Gaussian{Mean: g.Mean[first*c : (first+n)*c], Cov: g.Cov[first*w : (first+n)*w], Marginal: g.Marginal}
	if len(g.Epistemic) > 0 {
		out.Epistemic = g.Epistemic[first*c : (first+n)*c]
	}
	if len(g.Probs) > 0 {
		out.Probs = g.Probs[first*c : (first+n)*c]
	}
	if len(g.LogScale) > 0 {
		out.LogScale = g.LogScale[first*c : (first+n)*c]
	}
	if len(g.Unit) > 0 {
		out.Unit = g.Unit[first*c : (first+n)*c]
	}
	return out
}

// Set makes g a copy of from.
func (g *Gaussian) Set(from Gaussian) {
	g.Mean, g.Cov = append(g.Mean[:0], from.Mean...), append(g.Cov[:0], from.Cov...)
	g.Epistemic, g.Probs = append(g.Epistemic[:0], from.Epistemic...), append(g.Probs[:0], from.Probs...)
	g.LogScale, g.Unit = append(g.LogScale[:0], from.LogScale...), append(g.Unit[:0], from.Unit...)
	g.Marginal = from.Marginal
}

// Append appends the distributions of from, which have variances alone if and only if those in g do.
func (g *Gaussian) Append(from Gaussian) {
	g.Mean, g.Cov = append(g.Mean, from.Mean...), append(g.Cov, from.Cov...)
	g.Epistemic, g.Probs = append(g.Epistemic, from.Epistemic...), append(g.Probs, from.Probs...)
	g.LogScale, g.Unit = append(g.LogScale, from.LogScale...), append(g.Unit, from.Unit...)
	g.Marginal = from.Marginal
}

// SetMean overwrites Mean with the first elements of t, float32 or float64.
func (g *Gaussian) SetMean(t *tensor.Dense) { dense.Copy(g.Mean, t, 0) }
