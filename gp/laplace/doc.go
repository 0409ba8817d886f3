// Package laplace is the linearized Laplace approximation (LLA). The network is replaced
// by its linearization in the weights at the trained values θ̂, and the weights have a
// Gaussian posterior whose precision is the generalised Gauss-Newton matrix plus the precision of
// the prior. The latent function is then Gaussian, too:
//
//	f(x) ~ N(g(x), J(x) Σ J(x)ᵀ),   Σ = (H/σ² + I/σ₀²)⁻¹,   H = Σ_n J_nᵀ Λ_n J_n.
//
// g(x) [C] are the network's outputs and J(x) [C,P] is their Jacobian in the P weights.
// σ₀ is the prior standard deviation, one for all weights or one for each group of weights
// (Settings.Priors). With Gaussian noise σ is the noise standard deviation and Λ the identity.
// With softmax classes σ is 1 and Λ = diag(p) − ppᵀ. With any other likelihood Λ is the mean
// curvature, for noise of the scale σ in units of 1/σ².
//
// [Method] and [SubsetMethod] are the methods of package gp, with the settings [Settings] and
// [SubsetSettings]. Three choices are independent of each other: the weights that are uncertain
// (all weights, the last layer, or some by name), the structure in which H is kept (full, kfac, diag
// or lowrank), and the likelihood of the problem:
//
//	laplace.Settings{}                                                    // exact LLA
//	laplace.Settings{Weights: []string{"last-layer"}, Structure: "kfac"}  // LLA last-layer KFAC
//	laplace.SubsetSettings{Points: 500, PriorStd: 0.2}                    // GP-subset
//
// The hyper-parameters σ₀ and σ are given, or maximise the marginal likelihood (exactly,
// or as far as an ascent goes), or are the best of a grid on other examples. The data enter a
// posterior only through H. That is why a posterior moves to other hyper-parameters without another
// pass over the data (its method At), and why a file can hold it. All of H is kept as a [P,P] matrix
// over the weights or as an [N·C,N·C] matrix over the outputs, whichever is smaller.
//
// For observation models other than gaussian, kfac and diag of a network with convolutions go back through the network only
// for the rows of Λ^½ J that matter: a few for each example, or fewer than one where the network is
// sure of its examples. Some of the other rows stand in for all other rows, unless Settings.Exact
// is set. Fits to few examples and all other fits use all rows.
//
// The code has four parts that do not depend on each other. A scanner streams the
// Jacobian of the chosen weights, as outer products of activations and cotangents. A
// structure sums these up to H, factors it and predicts. An evidence is the marginal
// likelihood, computed from the spectrum of H, for which all of H is reduced to a block
// tridiagonal matrix. A search finds the maximum of the evidence.
package laplace
