// Package mfvi is mean-field variational inference that starts from a trained network
// (BayesAdapter, Deng and Zhu 2023). It trains the network further: weights are Gaussians,
//
//	q(θ) = N(μ, diag e^{2ψ}),  prior N(0, s₀² I),
//
// where μ starts at the trained weights and ψ at small standard deviations. A step minimises
//
//	mean over a mini-batch of −log p(y | f_θ(x)) under drawn weights  +  KL(q ‖ prior)/N,
//	KL = Σ ½ [(μ² + e^{2ψ})/s₀² − 1 − 2ψ + 2 log s₀].
//
// Weights θ = μ + e^ψ∘ε can be drawn in four ways, whose gradients have the same mean (but
// for local ones in convolutions) and different noise: one θ for the batch (single), one with
// random signs for each example (flipout, as published), one for each example, or noise in the
// outputs of layers (local). The way "none" trains μ without noise, as a control.
//
// Batch norm is in training mode: it normalises by the batch, and its running statistics move.
//
// A prediction is the mean over K draws of the weights, which are the same for all inputs, so
// that each draw is one function. It is not the network's.
package mfvi
