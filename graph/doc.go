// Package graph differentiates and runs Gorgonia expression graphs.
//
// A network, its neural tangent kernel and the loss of a Gaussian process are
// all nodes of one gorgonia.ExprGraph. This package adds what Gorgonia lacks to
// make that work:
//
//   - [Builder] writes formulas into a graph and keeps the first error;
//   - [VJP] and [JVP] differentiate nodes symbolically. They keep no state on the
//     nodes, so they can be applied to their own results, any number of times;
//   - a set of operations (matrix products, pointwise functions, reductions,
//     Cholesky, triangular solves, …), each of which is a Gorgonia Op and SDOp
//     and is closed under differentiation;
//   - [Compile] makes a [Program] of chosen nodes, which runs many times without
//     allocating.
//
// A Builder writes each operation as it is asked for, so that gradients with respect to
// any node are right. Compile rewrites: it leaves out reshapes, does not form products
// that are summed or arrays that are repeated, and computes equal expressions once. The
// nodes stay as they were. A program computes in the order of writing, but at once what gives
// memory back.
//
// Every operation is one small type, an [Op], which says its shape, its cotangents and
// its typed loops in one place. Other packages define operations in the same way and
// write them into a graph by [Builder.Apply]; package graphtest checks all operations.
//
// Stock Gorgonia operations may be mixed in. They are differentiated by their own
// SymDiff and run by their own Do, which allocates. Several derivatives are wrong in
// Gorgonia v0.9.18; those that were not found right are refused with an error.
//
// Arrays are row-major. Shapes broadcast as in NumPy. Element types are float32
// and float64, one per Builder.
package graph
