// Package corrected puts a corrected mean under the covariance of any method, for networks whose residuals can be
// predicted. The mean is SFR's own (Scannell et al. 2024), the posterior mean of a sparse Gaussian process with the
// tangent kernel, at which the network's outputs are only the start:
//
//	m(x) = κ_xz (K_z + B_u)⁻¹ α_u,   α_u = Σ_n κ_zn (Λ_n g(x_n) + ∂_f log p(y_n | g(x_n))).
//
// It is taken only where the squared error of the held-out rows falls by more than its standard error. The method is then
// fitted to the targets y + g(x) − m(x), so that its residuals y − m(x), its noise and σ₀ are those around the new mean.
package corrected
