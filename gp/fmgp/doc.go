// Package fmgp is the fixed-mean Gaussian process (FMGP): a sparse variational Gaussian
// process whose posterior mean is the network and whose kernel is a kernel of the inputs (Ortega,
// Rodríguez Santana and Hernández-Lobato, Fixed-Mean Gaussian Processes for Post-hoc Bayesian
// Deep Learning, 2024, arXiv 2412.04177, called the paper).
//
// The covariance has the form of VaLLA's,
//
//	Q(x,x') = K(x,x') − K_xz (A⁻¹ + K_z)⁻¹ K_zx',   A = LLᵀ,
//
// with a squared exponential kernel, or its product with the kernel of the network's last layer, in
// place of the network's tangent kernel. No Jacobian is ever taken: the outputs of the network
// and the inputs of its last dense layer are computed once and kept, and a step of the fit
// costs the same whatever the size of the network.
//
// Most users need [Settings] only, whose Fit takes a network with data and returns a
// [posterior]. Below it, a [sparseGP] writes the posterior and the objective into an expression
// graph, to which anything may be added.
package fmgp
