// Package calibrate corrects predictions after the fact, by rows that were held out. Its functions depend only on the
// predictions for these rows, by any posterior or by a network alone. No function changes a fit, and only the
// vector of FindVector changes the order of predictions.
//
//	[Temperature]  divides logits by a number                     no guarantee
//	[FindVector]   scales and shifts the logits of each class     no guarantee
//	[Deviation]    multiplies standard deviations by a number     no guarantee
//	[Conformal]    makes intervals and sets of classes            guaranteed coverage
//	[ControlRisk]  finds the rows that need no look               guaranteed risk of these
//	[Online]       adapts intervals while labels come in          coverage in the long run
//
// Rows that chose the prior, the end of the training or a temperature must not be used again
// for [Conformal], whose guarantee they void.
package calibrate
