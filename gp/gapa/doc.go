// Package gapa is the method of Gaussian-process activations (GAPA; Bergna et al. 2026,
// arXiv 2602.14934): the variance of a network's outputs grows with the distance of a hidden
// layer's values from those at the training rows.
//
// The layer has the values u(x) [d], its activations are a = φ(u), and the rest of the
// network is h, so that the outputs are h(a). Each activation becomes a Gaussian process
// with the mean φ(u_j) and the covariance c_j² ρ(u,u'). The process is conditioned on having its
// mean for its value at the training rows, up to noise of the variance τ c_j². So the mean does
// not change, and of the variance a part is left that all activations share:
//
//	c_j² r(u),   r(u) = 1 − ρ_S(u)ᵀ (R_SS + τI)⁻¹ ρ_S(u),   ρ(u,u') = exp(−‖u − u'‖²/(2ℓ²)),
//
// where S are the k training rows nearest to u. To first order the outputs have the network
// itself for their mean and the covariance
//
//	Q(x) = s r(u(x)) J(x) diag(c²) J(x)ᵀ,   J = ∂h/∂a [C,d].
//
// The kernel of whole vectors, the variances c_j² and the factor s are not in the paper. The
// variances make the training rows most likely when each training row is left out
// of its own neighbours: otherwise r would be nearly zero there. The factor makes
// the validation rows most likely, together with the noise where the targets have some.
package gapa
