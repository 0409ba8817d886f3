// Package onnx reads neural networks in the format ONNX (https://onnx.ai), as PyTorch and other
// programs export them, and makes them networks of this project.
//
//	f, err := onnx.Read("net.onnx", onnx.Options{})
//	net, err := f.Network(tensor.Float64)
//
// The nodes of the file become nodes of an expression graph, which can be differentiated any
// number of times. The floating-point initialisers are the network's parameters, under their own
// names; the running statistics of batch normalisation are its state. The number of examples is
// free: arithmetic on shapes is carried out with the numbers of each graph. [Operators] lists
// the operators, as opsets 11 to 24 define them.
//
// A [Graph] is a layer of package layers, so that the form of such a network can be written to a
// file, without weights, and be read again.
package onnx
