// Package moe is the mixture of experts of linearized Laplace approximations (MoE LLA; Lee,
// Humt, Feng and Triebel 2020; Lee et al. 2021): local LLA. The training rows are divided into
// clusters, and each cluster has an expert, which is the exact LLA of the rows of its own and of
// the neighbouring clusters. An input is predicted by the expert of the cluster that it falls
// into; the mean is the network's output, as ever.
//
// k-means in two scores finds the clusters. The scores are the leading components of a kernel
// principal component analysis with the tangent kernel Σ_c J_c(x) J_c(x')ᵀ among some training
// rows. Clusters are neighbours where the cells of their centres share an edge. Networks of a
// single input have no scores: cells lie between quantiles of the input, and neighbours are
// those beside each other.
//
// An expert sees fewer rows than LLA does, so that its variances are never smaller than LLA's,
// and they jump at the borders of cells. With one expert the method is LLA.
package moe
