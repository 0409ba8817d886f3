package gp

import (
	"context"

	"github.com/go-valla/valla/gp/likelihood"
)

// Summed is a posterior that is a function of sums over examples once the rest of it is chosen:
// the structure, the inducing points, the directions. It was fitted to a sample, from which the
// rest comes, and is made anew from the sums over all examples, which may be computed in parts,
// by many workers that see no other part.
type Summed interface {
	Stored
	// Sums starts the sums, at no examples. l is the likelihood, with the noise variance of the
	// fit. It is an error if the posterior is no function of sums.
	Sums(l likelihood.Likelihood, r Run) (Sums, error)
}

// Sums are sums over examples in float64, named arrays. The sums of several workers are added
// element by element.
type Sums interface {
	// Add adds examples.
	Add(ctx context.Context, e Examples) error
	// Each calls visit with each of the arrays: to read it, or to overwrite it, before Finish,
	// with sums of others.
	Each(visit func(name string, v *[]float64, shape ...int) error) error
	// Finish returns the posterior of n examples with these sums, and ends the use of the sums. held
	// examples choose the standard deviations of the weights and of the noise as in a fit;
	// without any the standard deviations of the fit to the sample stay. The settings of the record
	// are those that differ from the settings of the fit to the sample; nil stands for one that the
	// posterior does not have any more.
	Finish(ctx context.Context, n int, held *Examples) (*Fitted, error)
}
