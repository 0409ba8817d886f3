// Package layers defines networks as expression graphs.
//
// A [Network] owns named parameters and writes its formula into any number of
// graphs: one to train it, one for its tangent kernel, one to predict. Layers are
// small networks; [Sequential] and [Residual] put them together.
//
//	net, err := layers.MLP{Inputs: 1, Hidden: []int{50, 50}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rng)
//	y := net.Forward(b, x) // x [B,1], y [B,1]
//
// Parameter names are stable: weights are stored under them, and found by them.
package layers
