package train

import "math"

// Schedule returns the factor of the learning rate for mini-batch number
// iteration (from 0) of a run of total mini-batches. It is a pure function; its
// values must be finite and not negative.
type Schedule func(iteration, total int) float64

// Constant is the schedule that leaves the learning rate alone.
func Constant(iteration, total int) float64 { return 1 }

// StepDecay multiplies the learning rate by factor after every `every`
// iterations (at least 1): factor^⌊iteration/every⌋.
func StepDecay(every int, factor float64) Schedule {
	return func(iteration, _ int) float64 {
		if every < 1 {
			return math.NaN() // which Run refuses before it starts
		}
		return math.Pow(factor, float64(iteration/every))
	}
}

// Cosine lets the learning rate fall along half a cosine, from 1 to floor in
// [0, 1]: floor + (1 − floor)(1 + cos(π iteration/total))/2. Source: Loshchilov and
// Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts, ICLR 2017,
// equation 5, without restarts.
func Cosine(floor float64) Schedule {
	return func(iteration, total int) float64 {
		return floor + (1-floor)*(1+math.Cos(math.Pi*float64(iteration)/float64(total)))/2
	}
}

// Milestones lets the learning rate rise from 0 in equal steps over the first share warm of the
// run, and multiplies it by factor after each of the given shares of the run.
func Milestones(warm, factor float64, after ...float64) Schedule {
	return func(iteration, total int) float64 {
		done, scale := float64(iteration)/float64(total), 1.0
		if first := math.Ceil(warm * float64(total)); float64(iteration) < first {
			scale = (float64(iteration) + 1) / first
		}
		for _, a := range after {
			if done >= a {
				scale *= factor
			}
		}
		return scale
	}
}
