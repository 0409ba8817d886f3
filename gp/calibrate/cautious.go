package calibrate

import "math"

// usualLogT is the scale of log T in [TemperatureCost]: half of all networks are taken to have a T between 0.74 and 1.35.
// docs/honest.md has what a Gaussian of this scale gives.
const usualLogT = 0.3

// TemperatureCost returns what the temperature T of logits costs in nats over all rows that choose it, log(1 + (log T/0.3)²):
// log T has a Cauchy distribution before the rows are seen. Thirty rows move T by little, a thousand rows by what they say,
// and a network that has memorised its rows, which may need a T of 5, gets it.
func TemperatureCost(temperature float64) float64 {
	away := math.Log(temperature) / usualLogT
	return math.Log1p(away * away)
}

// Temperatures are those that a search of other hyper-parameters compares: steps of √2 from 0.35 to 11.3.
func Temperatures() []float64 {
	var all []float64
	for k := -3; k <= 7; k++ {
		all = append(all, math.Pow(2, float64(k)/2))
	}
	return all
}

// Cautious returns the temperature that [Temperature] returns, with [TemperatureCost] as the cost of the temperature. Where
// none from 0.01 to 100 is best, as for logits near 0, it is 1.
func Cautious(mean, variance []float64, labels []int) float64 {
	n := float64(len(labels))
	cost := func(logT float64) float64 {
		t := math.Exp(logT)
		return temperatureNLL(mean, variance, labels, t) + TemperatureCost(t)/n
	}
	t, below, above := lowest(cost)
	if below || above {
		return 1
	}
	return t
}
