// Package jacobian derives the Jacobian J(x) of a network's outputs with respect to its
// parameters, and the neural tangent kernel J(x) J(x')ᵀ, from the network's expression graph.
//
// For a dense layer, the Jacobian of output c at example x with respect to the weights is an
// outer product a⊗δ_c. Here a is the layer's input and δ_c is the derivative of output c with
// respect to the layer's output (the cotangent). The kernel therefore is a sum over layers of
// products of small inner products,
//
//	J(x) J(x')ᵀ = Σ_layers (a·a' + 1) (δ_c·δ'_c'),
//
// and no array of the size of all parameters is formed. [NTK] finds the factors by walking
// the graph from the outputs to the parameters. It asks each operation that uses a parameter
// for its rule and treats no kind of network specially. A parameter that is used several
// times gets the cross terms of its uses.
//
// For an operation without a rule the result is the same, but it takes longer: the Jacobian of
// the parameters that the operation uses is formed densely, by one reverse pass for each
// example and output.
package jacobian
