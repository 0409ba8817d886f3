package laplace

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp/likelihood"
	"gorgonia.org/tensor"
)

// options are the options of Fit. The zero value is exact LLA for regression with
// hyper-parameters that maximise the marginal likelihood.
type options struct {
	Weights   []string      // which are uncertain, see layers.Choose; nil: all
	Structure structureKind // of their covariance

	// Likelihood of the targets; nil: Gaussian. The noise variance is not used: σ is NoiseStd.
	Likelihood likelihood.Likelihood

	Priors   priorsKind // which weights share a σ₀
	PriorStd float64    // σ₀ of each weight; 0: maximises the marginal likelihood
	NoiseStd float64    // σ of each target; 0: maximises the marginal likelihood, or no noise
	Ascent   *ascent    // how it is maximised; nil: exactly

	// Rank is the number of eigenvectors of H that the structure LowRank keeps; 0: 100.
	// Eigenvectors whose eigenvalue is 0 up to rounding are not kept.
	Rank int

	// Subset is the number of examples, drawn at random by Seed, to which the posterior is
	// fitted as if they were all; 0: all. With the structure Full the result is the
	// GP-subset of Immer et al. (2021).
	Subset int
	Seed   uint64 // of the subset

	// Exact makes KFAC and Diagonal sum up every row of the roots of Λ, for observation models other than
	// gaussian, and convolutions. Without it they leave out most of the rows that hardly
	// count, and others stand in for these: of 2,048 images and ResNet-20 a Kronecker factor
	// changes by 1e-4 at most and the sum takes less than half the time; of more images, less of
	// both. In all other cases all rows are summed up.
	Exact bool

	stored bool // a file has Rank eigenvectors of the structure LowRank, which are not to be found

	Space       spaceKind // with the structures Full and LowRank
	BatchSize   int       // examples in one run of the network; 0: chosen to suit the cache
	MemoryLimit int64     // bytes; 0: 4 GiB

	// Progress, if not nil, is called after each batch with the number of examples that
	// have been seen and the number of all.
	Progress func(done, total int)
	// Products, if not nil, is called in the course of the products of all rows with each other, in function space, with the
	// number of rows that these are as many as, and the number of all.
	Products func(done, total int)
}

// structureKind is the form in which the Gauss-Newton matrix H is represented.
type structureKind string

// keeping says which forms of Jacobians the structure takes.
func (s structureKind) keeping() keeping {
	return keeping{places: s == kindKFAC, tokens: s == kindKFAC || s == kindDiagonal}
}

const (
	// kindFull keeps all of H.
	kindFull structureKind = "full"
	// kindKFAC keeps a Kronecker product for each parameter: A⊗G with A = (1/N) Σ_n a aᵀ
	// and G = Σ_n δᵀ Λ δ for a weight with the input a and the cotangents δ, and G
	// alone for a bias (Martens and Grosse 2015; Ritter et al. 2018). For the filters of a
	// convolution A = (1/N) Σ_n Σ_p a aᵀ and G = (1/T) Σ_n Σ_p δᵀ Λ δ, with sums over the T
	// places p of its output, where a is the patch at p (Grosse and Martens 2016). Any
	// other parameter whose Jacobian is not one outer product keeps its block of H, as a
	// bias does.
	kindKFAC structureKind = "kfac"
	// kindDiagonal keeps the diagonal of H.
	kindDiagonal structureKind = "diag"
	// kindLowRank keeps the eigenvectors of H with the largest eigenvalues. Finding them
	// takes more memory than Full.
	kindLowRank structureKind = "lowrank"
)

// likelihood is Likelihood, or its default.
func (o options) likelihood() likelihood.Likelihood {
	if o.Likelihood == nil {
		return likelihood.NewGaussian(1, tensor.Float64)
	}
	return o.Likelihood
}

// noisy reports whether a likelihood has a noise scale σ, so that Λ is in proportion to 1/σ². nil
// stands for Gaussian.
func noisy(l likelihood.Likelihood) bool { return l == nil || likelihood.Noisy(l) }

// spaceKind is the space in which all of H is represented. The choice changes time and memory,
// not the result.
type spaceKind string

const (
	spaceSmaller   spaceKind = "smaller"   // of the two below
	spaceWeights   spaceKind = "weights"   // a [P,P] system
	spaceFunctions spaceKind = "functions" // an [N·C, N·C] system, and the factors of all Jacobian rows [N·C, P]
)

const (
	batchBytes  = 8 << 20 // of what is kept of a batch of the default size
	maxBatch    = 256
	fewExamples = 8 // for which a batch may take fewBytes
	fewBytes    = 256 << 20
)

// filled returns the options with the names of the defaults that are not given.
func (o options) filled() options {
	o.Structure = cmp.Or(o.Structure, kindFull)
	o.Space = cmp.Or(o.Space, spaceSmaller)
	o.Priors = cmp.Or(o.Priors, priorsShared)
	return o
}

// known returns an error if v, which the message calls what, is not among the given names.
func known[K ~string](what string, v K, names ...K) error {
	if slices.Contains(names, v) {
		return nil
	}
	return fmt.Errorf("laplace: unknown %s %q, expected one of %q", what, v, names)
}

// check refuses filled options that contradict each other.
func (o options) check() error {
	unknown := cmp.Or(
		known("structure", o.Structure, kindFull, kindKFAC, kindDiagonal, kindLowRank),
		known("space", o.Space, spaceSmaller, spaceWeights, spaceFunctions),
		known("priors", o.Priors, priorsShared, priorsPerLayer, priorsPerParameter))
	switch {
	case unknown != nil:
		return unknown
	case o.Space != spaceSmaller && o.Structure != kindFull && o.Structure != kindLowRank:
		return fmt.Errorf("laplace: a space is chosen for the structure %v, expected %v or %v", o.Structure, kindFull, kindLowRank)
	case o.Rank < 0 || o.Rank > 0 && o.Structure != kindLowRank:
		return fmt.Errorf("laplace: rank %d for the structure %v, expected a positive number with %v", o.Rank, o.Structure, kindLowRank)
	case o.BatchSize < 0 || o.MemoryLimit < 0:
		return fmt.Errorf("laplace: batch size %d and memory limit %d: expected positive numbers, or 0 for the default", o.BatchSize, o.MemoryLimit)
	}
	if err := o.Ascent.check(); err != nil {
		return err
	}
	return uniform(o.PriorStd, o.NoiseStd, 1).check(noisy(o.Likelihood))
}

// batch returns the number of examples in a batch, where each example takes the given
// number of float64s. The batch suits the cache, but where that left only a few examples,
// it has some more.
func (o options) batch(n, elements int) int {
	if o.BatchSize > 0 {
		return min(n, o.BatchSize)
	}
	each := 8 * max(1, elements)
	fit := max(batchBytes/each, min(fewExamples, fewBytes/each))
	return max(1, min(n, maxBatch, fit))
}
