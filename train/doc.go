// Package train minimises an [Objective] over mini-batches: optimizers, learning-rate
// schedules, early stopping with the best state restored, and checkpoints from which a
// run goes on bit for bit.
//
// [Run] is the loop. It knows nothing about networks: an objective lends it parameters
// and gradients as dense tensors and evaluates one mini-batch at a time. [Graph] is the
// objective of a loss in an expression graph, [Batches] feeds it, and [MAP] trains a
// network with both. Random numbers belong to the objective and depend on the number of
// the mini-batch alone, so that a run can be cut anywhere and resumed.
//
// An iteration is one mini-batch and one optimizer step. Mini-batches are numbered from 0;
// everything that counts finished iterations (histories, the best iteration) says 1 after
// the first step.
package train
