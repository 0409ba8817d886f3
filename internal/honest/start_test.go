package honest

import (
	"os"
	"testing"

	gpvalla "github.com/go-valla/valla/gp/valla"
)

// TestStarts: what a default fit of an overfitted network finds does not hang on the prior
// standard deviation that it starts from.
func TestStarts(t *testing.T) {
	names := []string{"clouds-over"}
	if os.Getenv(long) != "" {
		names = append(names, "waves-over")
	}
	for _, name := range names {
		n, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		c := open(t, n)
		var first Score
		for i, start := range []float64{1, 0.01, 100} {
			s, m, err := c.Default(t.Context(), &gpvalla.Settings{Inducing: 50, Iterations: 200, PriorStd: start})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s from %g: NLL %.4f ± %.4f, σ₀ %.4f", name, start, s.NLL, s.Error, m.History[len(m.History)-1].PriorStds[0])
			if i == 0 {
				first = s
			} else if d := s.NLL - first.NLL; d > first.Error || d < -first.Error {
				t.Errorf("%s from %g: NLL %.4f, from 1 %.4f ± %.4f", name, start, s.NLL, first.NLL, first.Error)
			}
		}
	}
}
