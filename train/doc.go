// Package train minimises an [Objective] over mini-batches: optimizers,
// learning-rate schedules, early stopping with the best state restored,
// checkpoints from which a run goes on bit for bit, and a progress bar.
//
// [Run] is the loop. It knows nothing about networks: an objective lends it
// parameters and gradients as dense tensors and evaluates one mini-batch at a
// time. Randomness belongs to the objective and is a pure function of the
// number of the mini-batch, so that a run can be cut anywhere and resumed.
//
// Numbers: an iteration is one mini-batch and one optimizer step. Mini-batches
// are numbered from 0; everything that counts finished iterations (histories,
// the best iteration) says 1 after the first step.
package train
