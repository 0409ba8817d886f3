// Package ella is the accelerated linearized Laplace approximation (ELLA; Deng, Zhou and
// Zhu, NeurIPS 2022): the linearized Laplace approximation with its weights confined to the
// K directions along which the network's outputs change most, found by a Nyström
// approximation of the tangent kernel.
//
// M points, each a training input z_m with one output c_m, have the Jacobian J_Z [M,P] and
// the kernel K̂ = J_Z J_Zᵀ [M,M]. With its K largest eigenvalues λ and their eigenvectors U
// [M,K], the directions are v = J_Zᵀ U λ^−½ [P,K], which are orthonormal, and the features
// of an input are φ(x) = J(x) v [C,K]. The posterior has the network itself for its mean and
// the covariance
//
//	Q(x,x') = φ(x) (G + I/σ₀²)⁻¹ φ(x')ᵀ,   G = Σ_n φ_nᵀ Λ_n φ_n,
//
// where Λ_n is I/σ² with Gaussian noise and diag(p) − ppᵀ with classes. It is zero for
// functions that do not change along the directions, so that it underestimates the variance
// away from the points, unlike LLA. ELLA is LLA where the directions span the directions of all
// training rows and x is a training row.
//
// Neither J_Z nor the Jacobian of an input is formed: package jacobian computes the kernel in
// blocks, v takes reverse passes and φ takes forward passes.
package ella
