package valla

import (
	"math"
	"testing"

	"github.com/go-valla/valla/internal/fixture"
)

// TestLadderFindsTheBestScale: choosing and climbing, rungs end within the last step of
// the scale of the smallest value, from anywhere within a factor of 1,000.
func TestLadderFindsTheBestScale(t *testing.T) {
	for k, start := range []float64{1e-3, 0.05, 1, 70, 1e-3, 0.05, 1, 70} {
		const best = 0.07
		l := newLadder(2, []int{fewRungs, manyRungs}[k/4], math.Log(start), nil)
		for range 10 {
			values := make([]float64, l.rungs())
			for i, at := range l.logStd.Float64s()[:l.rungs()] {
				d := at - math.Log(best)
				values[i] = d*d + 0.1*d*d*d*d
			}
			l.choose(values)
			l.aim(values, lastStep)
			l.climb()
		}
		if got := math.Exp(l.logStd.Float64s()[l.lead()]); math.Abs(math.Log(got/best)) > math.Log(lastStep) {
			t.Errorf("from %g: σ₀ %g, want %g", start, got, best)
		}
		if step := math.Exp(l.numbers.Step); math.Abs(step-lastStep) > 1e-12 {
			t.Errorf("from %g: the rungs are %g apart, want %g", start, step, lastStep)
		}
	}
}

// TestLadderInherits: new rungs lie between old ones, and so do what they have.
func TestLadderInherits(t *testing.T) {
	l := newLadder(1, manyRungs, 0, []float64{0})
	for i := range l.rungs() {
		l.natural(i)[0], l.noise.Float64s()[i] = float64(i), 10*float64(i)
	}
	values := []float64{4, 3, 2, 1, 2} // lowest at rung 3
	if best := l.choose(values); best != 3 {
		t.Fatalf("rung %d", best)
	}
	l.aim(values, lastStep)
	l.climb()
	// The rungs, 2 steps on either side of 3 in half steps: 2, 2.5, 3, 3.5, 4.
	fixture.Close(t, "T", l.t.Float64s(), []float64{2, 2.5, 3, 3.5, 4}, 1e-14)
	fixture.Close(t, "likelihood", l.noise.Float64s(), []float64{20, 25, 30, 35, 40}, 1e-14)
	step := math.Log(firstStep)
	fixture.Close(t, "log σ₀", l.logStd.Float64s(), []float64{0, step / 2, step, 1.5 * step, 2 * step}, 1e-14)
}

// TestLadderNarrows: a ladder whose rungs are near each other keeps few rungs. These rungs lie where
// the ladder of many rungs would have them.
func TestLadderNarrows(t *testing.T) {
	l := newLadder(1, manyRungs, 0, []float64{0})
	copy(l.t.Float64s(), l.logStd.Float64s()) // and so it stays
	for k, want := range []int{manyRungs, manyRungs, fewRungs, fewRungs} {
		values := []float64{9, 4, 1, 4, 9}[(manyRungs-l.rungs())/2:][:l.rungs()]
		l.choose(values)
		l.aim(values, middleStep)
		l.climb()
		if l.rungs() != want || l.lead() != want/2 {
			t.Fatalf("climb %d: %d rungs, rung %d leading, want %d", k, l.rungs(), l.lead(), want)
		}
		fixture.Close(t, "T", l.t.Float64s()[:want], l.logStd.Float64s()[:want], 1e-14)
	}
	step := math.Log(middleStep)
	fixture.Close(t, "log σ₀", l.logStd.Float64s()[:fewRungs], []float64{-step, 0, step}, 1e-14)
}

// TestLadderOfOne: a fixed σ₀ stays.
func TestLadderOfOne(t *testing.T) {
	l := newLadder(2, 1, -1, nil)
	l.natural(0)[0] = 7
	l.choose([]float64{3})
	l.aim([]float64{3}, lastStep)
	l.climb()
	if l.logStd.Float64s()[0] != -1 || l.natural(0)[0] != 7 || l.lead() != 0 {
		t.Errorf("%v", l)
	}
}

func TestVertex(t *testing.T) {
	for _, c := range []struct{ a, b, c, want float64 }{
		{1, 0, 1, 0}, {1, 0, 3, -0.25}, {3, 0, 1, 0.25}, {0, 0, 9, -0.5}, {0, 0, 0, 0}, {1, 0, math.Inf(1), 0}, {math.Inf(1), 0, 1, 0},
	} {
		if got := vertex(c.a, c.b, c.c); got != c.want {
			t.Errorf("vertex(%g, %g, %g) = %g, want %g", c.a, c.b, c.c, got, c.want)
		}
	}
}

func TestInterpolate(t *testing.T) {
	rows := []float64{1, 10, 3, 30, 4, 50}
	interpolate(rows, 3, 2, []float64{-7, 1.25, 9})
	fixture.Close(t, "rows", rows, []float64{1, 10, 3.25, 35, 4, 50}, 1e-14)
	one := []float64{5, 6}
	interpolate(one, 1, 2, []float64{0})
	fixture.Close(t, "one row", one, []float64{5, 6}, 0)
}
