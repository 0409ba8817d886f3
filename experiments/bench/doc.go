// Package bench is the command valla bench. It measures the speed of this program: steps of fits,
// predictions and whole fits. Each time stands beside its floor, which is the time in which one core
// of this machine could make the operations that the formulas need. The command measures the speed
// of a core first, and plans count the operations (see gp.Plan).
//
// Whole fits are made with real data sets if a folder has them, and with made rows of the same sizes
// otherwise. Each fit is made in a process of its own, so that its memory is its alone. An interrupted
// command prints its measurements so far.
//
// With --reference the command compares this program with the code that the authors of VaLLA, FMGP
// and ELLA published. Python 3 with PyTorch is needed, too. Both sides get the same weights, data,
// inducing points, L and hyper-parameters. The command first checks that both compute the same: in
// float64 the losses of three consecutive steps, which depend on gradients, and means and covariances
// must agree to 1e-6. Otherwise it ends with an error. Then the sides take turns of a few steps each,
// so that noise of the machine affects both. Each side is tried with several numbers of threads, and
// the fastest counts. Nothing is downloaded or built. Without Python or PyTorch the command measures
// this program alone.
//
// With --scaling the command measures how time and memory of a training step grow with the number of
// inducing points M, the batch B, the classes C, the rows N and the weights P, and draws the curves.
// With --latency it measures how long single rows take with a predictor, in percentiles.
package bench
