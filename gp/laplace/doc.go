// Package laplace is the linearized Laplace approximation (LLA). The network is replaced
// by its linearization in the weights at the trained values θ̂, and the weights have a
// Gaussian posterior whose precision is the generalised Gauss-Newton matrix plus that of
// the prior. The latent function is then Gaussian, too:
//
//	f(x) ~ N(g(x), J(x) Σ J(x)ᵀ),   Σ = (H/σ² + I/σ₀²)⁻¹,   H = Σ_n J_nᵀ Λ_n J_n.
//
// g(x) [C] are the network's outputs and J(x) [C,P] is their Jacobian in the P weights.
// σ₀ is the prior standard deviation, one for all weights or one for each group of them
// ([Priors]). With Gaussian noise σ is the noise standard deviation and Λ the identity.
// With softmax classes σ is 1 and Λ = diag(p) − ppᵀ.
//
// There are two ways in. [Method] and [SubsetMethod] are the methods of package gp, with
// settings for the command line and for files ([Settings], [SubsetSettings]). The function
// [Fit] takes [Options], of which three are independent choices: the weights that are
// uncertain ([All], [LastLayer], [Named]), the structure in which H is kept ([Full],
// [KFAC], [Diagonal], [LowRank]), and the likelihood:
//
//	laplace.Fit(ctx, net, x, y, laplace.Options{})                           // exact LLA, regression
//	laplace.Fit(ctx, net, x, y, laplace.Options{Likelihood: likelihood.Softmax{},
//		Weights: laplace.LastLayer, Structure: laplace.KFAC})                // LLA last-layer KFAC
//	laplace.Fit(ctx, net, x, y, laplace.Options{Subset: 500, PriorStd: 0.2}) // GP-subset
//
// The hyper-parameters σ₀ and σ are given, or maximise the marginal likelihood (exactly,
// or as far as an [Ascent] goes), or are the best of a [Grid] on other examples
// ([Posterior.GridSearch]). The data enter a posterior only through H. That is why it can
// move to other hyper-parameters without another pass over the data ([Posterior.At],
// [Posterior.AtEach]), and why a file can hold it ([Posterior.State], [Restore]). All of H
// is kept as a [P,P] matrix over the weights or as an [N·C,N·C] matrix over the outputs,
// whichever is smaller.
//
// With classes, KFAC and Diagonal of a network with convolutions go back through it only for those
// rows of Λ^½ J that matter, a few for each example or less than one where the network is sure of
// its examples; some of the others stand in for all of them ([Options], Exact). Fits to few
// examples and all other fits use all rows.
//
// The code has four parts that do not depend on each other. A scanner streams the
// Jacobian of the chosen weights, as outer products of activations and cotangents. A
// structure sums these up to H, factors it and predicts. An evidence is the marginal
// likelihood, computed from the spectrum of H, for which all of H is reduced to a block
// tridiagonal matrix. A search finds the maximum of the evidence.
package laplace
