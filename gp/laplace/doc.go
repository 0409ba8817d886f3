// Package laplace is the linearised Laplace approximation (LLA): the network,
// linearised in its weights at the trained values θ̂, with the Gaussian posterior
// over weights that the generalised Gauss-Newton matrix gives,
//
//	f(x) ~ N(g(x), J(x) Σ J(x)ᵀ),   Σ = (H/σ² + I/σ₀²)⁻¹,   H = Σ_n J_nᵀ J_n.
//
// J(x) [C,P] is the Jacobian of the C outputs in the P weights, σ₀ the prior and σ
// the noise standard deviation. [Fit] computes it exactly for regression, with all
// weights and the full covariance; the hyper-parameters are given or maximise the
// marginal likelihood.
//
// The same numbers come from a [P,P] system in the space of weights or an [N·C,N·C]
// system in the space of functions, whichever is smaller. Both see the data only
// through the spectrum of H and the ratio s = σ²/σ₀², which is why a fitted
// posterior can be had at other hyper-parameters without another pass ([Posterior.At]).
//
// Inside, three things are independent of each other: a scanner says which weights
// are treated and streams their Jacobian; a structure says how H is represented; an
// evidence finds the hyper-parameters from what the structure tells of its spectrum.
package laplace
