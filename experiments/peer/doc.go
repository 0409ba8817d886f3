// Command peer compares the speed of this program with that of the code that the authors of
// VaLLA published, on this machine.
//
//	go run ./experiments/peer --reference DIR
//
// DIR is a checkout of the authors' repository; Python 3 with PyTorch is needed, too.
// Both sides get the same weights, data, inducing points, L and hyper-parameters. That they
// compute the same is checked first: in float64 losses (three steps in a row, so that
// gradients count, too), means and covariances must agree to 1e-6, or it is an error. Then
// they run in turn, a few steps each, so that noise of the machine hits both. Each side runs
// with several settings of its threads, and its fastest counts. Nothing is fetched or built.
//
// Without DIR, Python or PyTorch it measures this program alone.
//
//	go run ./experiments/peer --scaling
//
// measures how time and memory of a training step grow with the number of inducing points,
// the batch and the classes, and draws it.
package main
