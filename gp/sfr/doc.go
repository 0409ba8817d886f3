// Package sfr is SFR, sparse function-space representation (Scannell et al., ICLR 2024): the
// sparse Gaussian process that is dual to the linearized Laplace approximation. It is built
// from all rows in closed form.
//
// At each row the likelihood has the gradient α_n = ∂ log p(y_n | g_n)/∂g and the curvature
// Λ_n, where g is the network. With the tangent kernel κ = σ₀² J Jᵀ, M training rows z for
// points, and K_z = κ(z,z),
//
//	B_u = Σ_n κ_zn Λ_n κ_nz,   ỹ_u = Σ_n κ_zn (α_n + Λ_n g_n),
//	covariance κ − κ_xz [K_z⁻¹ − (K_z + B_u)⁻¹] κ_zx,
//	mean g(x), or κ_xz (K_z + B_u)⁻¹ ỹ_u.
//
// The second mean is SFR's own. It is not the network, and it moves when rows are added; with
// the first one the method is called SFR-NN.
//
// As published, each output is a Gaussian process of its own, with the diagonal of Λ. The
// joint form has all outputs at every point, and all of Λ; it is the closed form of VaLLA,
// and with all rows for points exact LLA. Both agree where there is one output.
//
// The data enter through B_u and ỹ_u alone, which are sums over rows. That is why rows can be
// added to a fitted posterior (Update), and why one pass over the data serves
// every σ₀ and σ that a fit compares.
//
// Sums, factors and kernels are in float64, whatever the network holds, since variances are
// small differences of large numbers.
package sfr
