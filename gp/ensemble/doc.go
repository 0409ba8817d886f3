// Package ensemble puts posteriors on ensembles of networks (Lakshminarayanan, Pritzel, Blundell 2017, Simple and scalable
// predictive uncertainty estimation using deep ensembles): each network, a member, has a posterior of its own, by any
// method. A prediction is the Gaussian with the moments of the mixture of the members' Gaussians in equal parts:
//
//	mean  g = (1/K) Σ_k g_k
//	cov   Q = (1/K) Σ_k Q_k + (1/K) Σ_k (g_k − g)(g_k − g)ᵀ
//
// The first sum of Q is the part within networks, and the second the part between networks. Without posteriors, where
// all Q_k are 0, this is a deep ensemble.
package ensemble
