package train

import (
	"math"
	"testing"
)

func TestSchedulesByHand(t *testing.T) {
	for _, c := range []struct {
		name      string
		s         Schedule
		iteration int
		want      float64
	}{
		{"constant", Constant, 17, 1},
		{"step decay before", StepDecay(10, 0.5), 9, 1},
		{"step decay at", StepDecay(10, 0.5), 10, 0.5},
		{"step decay later", StepDecay(10, 0.5), 39, 0.125},
		{"cosine start", Cosine(0.1), 0, 1},
		{"cosine quarter", Cosine(0), 25, (1 + math.Sqrt2/2) / 2}, // cos π/4
		{"cosine middle", Cosine(0.1), 50, 0.55},
		{"cosine end", Cosine(0.1), 100, 0.1},
		{"milestones, first", Milestones(0.1, 0.5, 0.3, 0.6), 0, 0.1},
		{"milestones, warm", Milestones(0.1, 0.5, 0.3, 0.6), 9, 1},
		{"milestones before", Milestones(0.1, 0.5, 0.3, 0.6), 29, 1},
		{"milestones at", Milestones(0.1, 0.5, 0.3, 0.6), 30, 0.5},
		{"milestones later", Milestones(0, 0.5, 0.3, 0.6), 99, 0.25},
	} {
		if got := c.s(c.iteration, 100); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
