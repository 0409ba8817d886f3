// Package sampled is the linearized Laplace approximation by samples (Sampled LLA; Antorán,
// Padhy, Barbano, Nalisnick, Janz and Hernández-Lobato, ICLR 2023). It is LLA of all weights
// without its matrices: the posterior is known by S samples of the weights.
//
// The weights' posterior is N(0, (M + λI)⁻¹) around the trained ones, with the curvature
// M = Σ_n J_nᵀ Λ_n J_n [P,P] and the prior precision λ = 1/σ₀². Λ_n is I/σ² with Gaussian noise
// and diag(p) − ppᵀ with classes; R_n is a root of it. A sample
//
//	ζ = (M + λI)⁻¹ (√λ z + Σ_n J_nᵀ R_n ε_n),   z and ε_n standard normal,
//
// has exactly this distribution. It is the minimum of a quadratic function, found by conjugate
// gradients or by stochastic gradients, for which products with M take one pass over the data:
// a forward and a reverse derivative of the network for each sample. No Jacobian and no matrix
// is formed. The preconditioner of conjugate gradients is a randomised Nyström approximation of M
// from rows that are drawn in proportion to their curvature, tr Λ_n.
//
// Where a network is sure of most training rows, few rows have nearly all of the curvature. The
// setting rows makes M of so many of them, with weights that keep its mean.
//
// The latent function has the network for its mean, and the functions g(x) + J(x) ζ for samples,
// which are joint over inputs; their second moments are its covariance.
//
// λ follows from the samples by steps of expectation and maximisation: they tell how many
// weights the data determine, γ = tr M (M + λI)⁻¹, and the next λ is γ/|θ̄|², where θ̄ is the
// best weight vector of the linear model J(x) w.
//
// Sampled LLA is not to be confused with samples from any joint posterior, gp.Sample, or with
// class probabilities from samples of logits, gp.SampledProbs.
package sampled
