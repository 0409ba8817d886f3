// Package valla puts error bars on neural networks.
//
// A network that is trained already keeps its predictions. What this package adds is how
// far each of them can be trusted: a standard deviation for a number, and probabilities for
// classes that are not overconfident far from the training data. It takes three lines:
//
//	m, err := valla.FromWeights(ctx, "net.npz", set, valla.WeightOptions{})
//	m, err = m.Fit(ctx, set, valla.FitOptions{})
//	p, err := m.Predict(ctx, x, valla.PredictOptions{})
//
// Here net.npz holds the weights of a network that was trained elsewhere, set is a
// [github.com/go-valla/valla/data.Set] with the data that it was trained on, and x are
// inputs. p.Mean and p.Std then hold the mean and the standard deviation of each target.
//
// # Models
//
// A [Model] is a network with its weights, a description of its inputs and outputs, and,
// once it is fitted, a posterior. There are four ways to a model without a posterior:
//
//   - [Train] trains a network, a perceptron unless [Network] says otherwise,
//   - [FromWeights] reads weights that were trained elsewhere,
//   - [New] takes a network that was trained by a loop of one's own,
//   - [Load] reads a file that [Model.Save] wrote, which may hold a posterior too.
//
// A table of text, dates and missing values becomes a set by [Encode]; the model then keeps the
// encoding, and [Model.Columns], [Model.Set] and, for files of any size, [Model.Open] apply it.
//
// [Model.Fit] returns the model with a posterior, [Model.Predict] predicts, and
// [Model.Evaluate] compares predictions with targets. All of this is the same for
// perceptrons, convolutional and residual networks and for any other network that package
// layers can describe, for one or several numbers and for classes, and for every method.
// A service, which predicts few rows at a time from many goroutines, takes a [Predictor].
//
// Every fit ends with a [Verdict], in the last [Event] of the model's history: whether the
// posterior predicts better than the network alone. docs/uncertainty.md says what the
// variances mean.
//
// # Methods
//
// A method says how uncertain the network's output is, given the training data. Most methods leave
// the weights as they are, so that the mean of the posterior is the network's output; package
// gp/mfvi and package gp/sngp train a copy of the network further, and package gp/sfr may have
// a mean of its own. Most rest on the linearized Laplace approximation (LLA): near its trained
// weights the network is nearly linear in them, and a Gaussian distribution over the weights makes
// the output a Gaussian process, whose kernel is the network's tangent kernel.
//
// The default is VaLLA, the variational linearized Laplace approximation of Ortega,
// Rodríguez Santana and Hernández-Lobato (ICML 2024). It keeps the Gaussian process at a
// few inducing points, which makes it fast for any number of rows. [method.All] lists all
// methods. A method is chosen by its settings:
//
//	m, err = m.Fit(ctx, set, valla.FitOptions{Settings: &laplace.Settings{Structure: "kfac"}})
//
// # Settings and units
//
// The zero value of each field of a settings struct means its default, which the field's
// tag states. Values that make no sense are errors that wrap [ErrSetting].
//
// A network has units of its own: for tables these are usually columns with mean 0 and
// standard deviation 1, for images numbers instead of bytes. Inputs, predictions and
// scores of a Model are in the units of the data. Settings such as noise-std, which belong
// to a method, are in the units of the network.
//
// Everything random comes from seeds: the same data, settings and seeds give the same
// model, bit for bit on the same kind of machine.
//
// # Packages below this one
//
// Each can be used without this package. Package gp and those below it hold the methods,
// layers the networks, jacobian the tangent kernels, graph the differentiation of
// Gorgonia's expression graphs, train the training loop, and data the readers.
package valla
