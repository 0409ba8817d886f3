// Package jacobian derives the Jacobian of a network with respect to its
// parameters, and the neural tangent kernel, from the network's expression graph.
//
// The Jacobian of output c at example x with respect to a dense layer's weights is
// an outer product a⊗δ_c of the layer's input and the cotangent of its output.
// The kernel therefore is a sum over layers of products of small inner products,
//
//	J(x) J(x')ᵀ = Σ_layers (a·a' + 1) (δ_c·δ'_c'),
//
// and nothing of the size of all parameters has to exist. [NTK] finds the factors
// by walking the graph from the outputs to the parameters and asking each operation
// that consumes one for its rule; no network is treated by name. A parameter that is
// used several times gets the cross terms of its uses.
//
// An operation without a rule costs time, not correctness: the Jacobian of the
// parameters below it is formed densely, one reverse pass for each example and output.
package jacobian
