// Package laplace is the linearised Laplace approximation (LLA): the network,
// linearised in its weights at the trained values θ̂, with a Gaussian posterior over
// weights that the generalised Gauss-Newton matrix gives,
//
//	f(x) ~ N(g(x), J(x) Σ J(x)ᵀ),   Σ = (H/σ² + I/σ₀²)⁻¹,   H = Σ_n J_nᵀ Λ_n J_n.
//
// J(x) [C,P] is the Jacobian of the C outputs in the P weights and σ₀ the prior standard
// deviation, one for all weights or one for each layer ([Priors]). With Gaussian noise σ
// is its standard deviation and Λ the identity; with softmax classes σ is 1 and
// Λ = diag(p) − ppᵀ. [Fit] takes three independent choices: which weights are uncertain
// ([All], [LastLayer], [Named]), the structure in which H is kept ([Full], [KFAC],
// [Diagonal], [LowRank]) and the likelihood ([Gaussian], [Softmax]).
//
//	laplace.Fit(ctx, net, x, y, laplace.Options{})                                    // exact, regression
//	laplace.Fit(ctx, net, x, y, laplace.Options{Likelihood: laplace.Softmax,
//		Weights: laplace.LastLayer, Structure: laplace.KFAC})                         // LLA* KFAC
//	laplace.Fit(ctx, net, x, y, laplace.Options{Subset: 500, PriorStd: 0.2})          // GP-subset
//
// Hyper-parameters are given, maximise the marginal likelihood (exactly, or as far as an
// [Ascent] goes), or are the best of a [Grid] on other examples
// ([Posterior.GridSearch]). Every structure sees the data only through its H, which is
// why a fitted posterior can be had at other hyper-parameters without another pass
// ([Posterior.At], [Posterior.AtEach]), and be written to a file and read again
// ([Posterior.State], [Restore]). The full H comes as a [P,P] system in the space of
// weights or an [N·C,N·C] system in the space of functions, whichever is smaller.
//
// Inside, four things are independent of each other: a scanner streams the Jacobian of
// the chosen weights, as outer products of activations and cotangents; a structure sums
// them up to H, solves and predicts; an evidence is the marginal likelihood, from what
// the structure tells of its spectrum; a search goes to its maximum.
package laplace
