// Package layers defines networks as expression graphs.
//
// A [Network] owns named parameters and writes its formula into any number of
// graphs: one to train it, one for its tangent kernel, one to predict. Layers are
// small networks; [Sequential] and [Residual] put them together.
//
//	net, err := layers.MLP{Inputs: 1, Hidden: []int{50, 50}, Outputs: 1, Activation: "tanh"}.New(tensor.Float64, rng)
//	y := net.Forward(b, x) // x [B,1], y [B,1]
//
// A [Form] describes a network as data and builds it. The forms are [MLP], [CNN],
// [ResNet] and, for a list of any layers, [SequentialForm]. [MarshalForm] and
// [UnmarshalForm] write a form as JSON and read it. A form does not hold weights: [Save]
// and [Load] do that, and they find each array of weights by its name.
//
// A [Layer] describes one layer as data and makes it. Another package adds a layer with
// [RegisterLayer] and a form with [Register], and tests them with package layertest.
//
// Methods that look into a network ask its layers for interfaces, never for types: [Affine],
// [PerExample] and [Filtering] for layers with weights, [Normaliser], [Site] for activations, and
// [Composite] for networks made of others. A layer without the interface is refused by [As].
package layers
