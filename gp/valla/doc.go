// Package valla is the variational linearized Laplace approximation (VaLLA): a sparse
// variational Gaussian process whose kernel is the network's tangent kernel and whose mean
// is the network itself (Ortega, Rodríguez Santana and Hernández-Lobato, ICML 2024, called
// the paper).
//
// With the scaled kernel κ(x,x') = σ₀² J(x) J(x')ᵀ, J the Jacobian of the network's outputs
// in its weights, and M inducing points, each of which is an input z_m and one output c_m,
// the covariance is
//
//	Q(x,x') = κ(x,x') − K_xz (A⁻¹ + K_z)⁻¹ K_zx',   A = LLᵀ.
//
// A fit finds the inducing inputs Z, the matrix A, the prior standard deviation σ₀ and, for
// Gaussian noise, its variance σ². The network stays as it is.
//
// Most users need [Settings] only: Settings.Fit takes a network with data and returns a posterior,
// which it fits by natural gradients or, as published, by Adam. A [Layer] writes the posterior
// and the objective into an expression graph, to which anything may be added.
package valla
