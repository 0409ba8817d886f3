// Package calibrate corrects predictions after the fact, by rows that were held out: pure
// functions of what any posterior, or a network alone, has predicted for these rows. None of
// them changes a fit, and but for FindVector none the order of the predictions.
//
//	[Temperature]  divides logits by a number                     no guarantee
//	[FindVector]   scales and shifts the logits of each class     no guarantee
//	[Deviation]    multiplies standard deviations by one          no guarantee
//	[Conformal]    makes intervals and sets of classes            guaranteed coverage
//
// Rows that chose the prior, the end of the training or a temperature must not be used again
// for [Conformal], whose guarantee they void.
package calibrate
