// Package frozen computes what is frozen in a network once. A network is cut into a front, whose weights are certain, and
// the rest. The outputs of the front are the features of a row. A method is fitted to the rest as to a network whose inputs
// are features, and knows nothing of the front; [Cut.Through] makes its posterior one of the whole network again.
//
//	cut, err := frozen.Before(net, shape, dt, uncertain)
//	cut.Memory = memory                      // of features; nil: each use computes them
//	problem, err = cut.Problem(ctx, problem, run)
//	fitted, err := settings.Fit(ctx, problem, run)
//	posterior := cut.Through(fitted.Posterior) // takes rows, not features
//
// A [Memory] keeps the features of rows, in memory or in a file that later fits read. It knows a row by the hash of its
// numbers, so the order of rows, their division and their number do not matter.
package frozen
