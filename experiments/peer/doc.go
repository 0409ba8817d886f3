// Command peer compares the speed of this program with the speed of the code that the authors of
// VaLLA published, both on this machine.
//
//	go run ./experiments/peer --reference DIR,DIR
//
// Each DIR is a checkout of the repository of the authors of VaLLA, FMGP or ELLA. A method without
// its checkout is measured on this side alone. Python 3 with PyTorch is needed, too. Both sides get
// the same weights, data, inducing points, L and hyper-parameters. The command first
// checks that both compute the same: in float64 the losses of three consecutive steps, which
// depend on gradients, and means and covariances must agree to 1e-6. Otherwise it ends with an
// error. Then the sides take turns of a few steps each, so that noise of the machine affects
// both. Each side is tried with several numbers of threads, and the fastest counts. Nothing is
// downloaded or built.
//
// Without DIR, Python or PyTorch the command measures this program alone.
//
//	go run ./experiments/peer --scaling
//
// measures how time and memory of a training step grow with the number of inducing points M, the
// batch B, the classes C, the rows N and the weights P, prints the exponents and draws the curves.
//
//	go run ./experiments/peer --latency --dir docs
//
// measures how long single rows take with a predictor, in percentiles, and draws them. Where the
// machine does other work, too, --cpu measures CPU time, on one thread of each side.
//
//	go run ./experiments/peer --fits uci,mnist --data FOLDER
//
// makes whole fits: fits of the experiments, and some more. It prints their time, memory and quality
// beside the figures that were published last. Without names it makes all fits, which takes hours.
// Each fit is made in a process of its own. Finished fits are kept in the folder --dir and are not
// made again. Another folder measures anew.
//
// An interrupted command prints its measurements so far.
package main
