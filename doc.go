// Package valla puts error bars on neural networks that are already trained.
//
// A [Model] is a network with its weights, what its inputs and outputs are of, and, once
// fitted, a posterior. From weights to error bars:
//
//	m, err := valla.FromWeights(ctx, "net.npz", set, valla.WeightOptions{Network: valla.Network{Activation: "tanh"}})
//	m, err = m.Fit(ctx, set, valla.FitOptions{})
//	p, err := m.Predict(ctx, x, valla.PredictOptions{})
//
// [Train] makes the network itself, and [Load] reads a model that [Model.Save] has written:
// weights, scaling, posterior and history in one file.
//
// # What is computed
//
// The mean of every posterior is the network: fitting never changes the weights. What a
// method adds is the variance of the network's outputs f, as a linearised Laplace
// approximation or one of its relatives has it. The default is VaLLA, the variational
// linearized Laplace approximation of Ortega, Rodríguez Santana and Hernández-Lobato (ICML
// 2024): a sparse Gaussian process with the network's tangent kernel. [Methods] lists all.
//
// Every fit ends with a [Verdict], in the last [Event] of the history: whether the posterior
// predicts better than the network alone. docs/uncertainty.md says what variances mean.
//
// A network works in units of its own, for tables usually those in which each column has
// mean 0 and standard deviation 1. What goes into and comes out of a Model is in the units
// of the data.
//
// # Below this package
//
// Package gp and those below it hold the methods, package layers the networks, package
// jacobian the tangent kernels, package graph the differentiation of Gorgonia's expression
// graphs, and package data the readers. They can be used without this one.
package valla
