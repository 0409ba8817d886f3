package corrupt

import (
	"math"
	"slices"
	"testing"
)

// spread returns mean and standard deviation of the values a corruption makes of a
// flat 100×100 image: 30,000 values, so that a mean is known to 0.6 % of the
// deviation, and the deviation to 0.4 %. The tests allow four times as much.
func spread(t *testing.T, name string, severity int, v uint8) (values []uint8, mean, deviation float64) {
	t.Helper()
	src := slices.Repeat([]uint8{v}, channels*100*100)
	values = make([]uint8, len(src))
	must(t, name, severity, 11).Apply(values, src, 100, 100, 0)
	for _, x := range values {
		mean += float64(x) / float64(len(values))
	}
	for _, x := range values {
		deviation += (float64(x) - mean) * (float64(x) - mean) / float64(len(values))
	}
	return values, mean, math.Sqrt(deviation)
}

// Noise has the deviation of its parameters (make_cifar_c.py of the authors); values
// are cut off, which takes half a step from the mean.
func TestNoiseDeviations(t *testing.T) {
	const v = 128.
	for name, want := range map[string]func(severity int) float64{
		"gaussian_noise": func(s int) float64 { return 255 * [5]float64{.04, .06, .08, .09, .10}[s] },
		"speckle_noise":  func(s int) float64 { return v * [5]float64{.06, .1, .12, .16, .2}[s] },
		"shot_noise":     func(s int) float64 { return math.Sqrt(v * 255 / [5]float64{500, 250, 100, 75, 50}[s]) },
	} {
		for s := range Severities {
			_, mean, deviation := spread(t, name, s+1, v)
			if w := want(s); math.Abs(deviation/w-1) > .02 || math.Abs(mean-v+.5) > .025*w {
				t.Errorf("%s %d: mean %.3f, deviation %.3f, want %g, %.3f", name, s+1, mean, deviation, v-.5, w)
			}
		}
	}
}

func TestImpulsesAreCounted(t *testing.T) {
	for s, amount := range [5]float64{.01, .02, .03, .05, .07} {
		values, _, _ := spread(t, "impulse_noise", s+1, 100)
		var count [256]int
		for _, v := range values {
			count[v]++
		}
		if count[0]+count[100]+count[255] != len(values) {
			t.Errorf("severity %d: other values than 0, 100 and 255", s+1)
		}
		// Four standard deviations of a binomial distribution.
		want := amount / 2 * float64(len(values))
		for _, v := range []int{0, 255} {
			if math.Abs(float64(count[v])-want) > 4*math.Sqrt(want) {
				t.Errorf("severity %d: %d values %d, want %g", s+1, count[v], v, want)
			}
		}
	}
}

// Black has no photons and no speckles.
func TestBlackStaysBlack(t *testing.T) {
	for _, name := range []string{"shot_noise", "speckle_noise"} {
		if _, mean, deviation := spread(t, name, 5, 0); mean != 0 || deviation != 0 {
			t.Errorf("%s: mean %g, deviation %g", name, mean, deviation)
		}
	}
}
