package gp

// OwnMean is a [Posterior] whose mean may be another than the network's output. A post-hoc
// method adds error bars to a network; a method that trains it further, or has a mean of its
// own, changes predictions too, and says so.
type OwnMean interface {
	Posterior
	// OwnMean says in a sentence what the mean is in place of the network's output, such as
	// "Predictions are those of weights trained further, not the network's."; "" where it is
	// the network's output.
	OwnMean() string
}

// MeanOf returns what p says of a mean of its own; "" where the mean is the network's output.
func MeanOf(p Posterior) string {
	if o, ok := p.(OwnMean); ok {
		return o.OwnMean()
	}
	return ""
}
