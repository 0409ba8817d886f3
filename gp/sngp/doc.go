// Package sngp trains a network further into a spectral-normalised neural Gaussian process,
// SNGP (Liu and others, Simple and Principled Uncertainty Estimation with Deterministic Deep
// Learning via Distance Awareness, NeurIPS 2020, arXiv 2006.10108, called the paper).
//
// The network changes in two places. The weights of its hidden layers are divided so that the
// layers lengthen no vector by more than a bound: hidden units then keep apart what is apart
// in the inputs. The last layer, a dense one, gives way to a Gaussian process of the hidden
// units h by random features,
//
//	f(x) = φ(x) β,   φ(x) = scale · cos(h W/ℓ + b),   β ~ N(0, I),
//
// whose weights β have the covariance s (s I + Σ_n φ_nᵀφ_n)⁻¹ of Laplace's approximation.
// Inputs far from all training rows have features with a large variance, whatever the network's
// outputs are.
//
// Like MF-VI, and unlike the other methods, SNGP trains the weights. The posterior has weights of
// its own, leaves the network alone, and says that its mean is not the network's output.
//
// Most users need [Settings] only, whose Fit takes a trained network with data and returns a
// [posterior].
package sngp
