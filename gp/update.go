package gp

import "context"

// Updater is a posterior to which examples can be added after its fit, without a new one.
type Updater interface {
	Stored
	// Update returns the posterior given the examples that p was fitted to and the examples of
	// more.Train. This posterior is the posterior of a fit to all these examples that finds the same
	// hyper-parameters, and the same inducing points where it has any. more has the network
	// of the fit and its likelihood, with the noise variance that the fit has found; its
	// validation examples are not used. Run.Memory 0 means the limit of the fit. The
	// posterior itself does not change. It is an error if examples cannot be added exactly.
	Update(ctx context.Context, more Problem, r Run) (Stored, error)
}
