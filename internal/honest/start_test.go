package honest

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	gpvalla "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/internal/fixture"
)

func TestStarts(t *testing.T) {
	shared := fixture.Shared(t, "data")
	ctx := context.Background()
	for _, name := range []string{"yacht", "boston", "energy", "concrete", "kin8nm", "power"} {
		if only := os.Getenv("NET"); only != "" && only != name {
			continue
		}
		for seed := range 2 {
			train, test, err := data.UCI(filepath.Join(shared, "uci", name+".npz"), seed)
			if err != nil {
				t.Fatal(err)
			}
			if n := train.N(); n > 150 && os.Getenv("SMALL") != "" {
				rows := make([]int, 150)
				for i := range rows {
					rows[i] = i * n / 150
				}
				train = train.Rows(rows)
			}
			m, err := valla.Train(ctx, train, valla.TrainOptions{Seed: uint64(seed), Training: valla.Training{Iterations: 3000}})
			if err != nil {
				t.Fatal(err)
			}
			mapScores, err := m.Evaluate(ctx, test, valla.PredictOptions{})
			if err != nil {
				t.Fatal(err)
			}
			v, _ := mapScores.Get("NLL")
			t.Logf("%s seed %d: MAP %.4f", name, seed, v)
			for _, start := range []float64{0.01, 1, 100} {
				f, err := m.Fit(ctx, train, valla.FitOptions{Settings: &gpvalla.Settings{PriorStd: start}, Run: gp.Run{Seed: uint64(seed)}})
				if err != nil {
					t.Error(err)
					continue
				}
				s, err := f.Evaluate(ctx, test, valla.PredictOptions{})
				if err != nil {
					t.Fatal(err)
				}
				v, _ := s.Get("NLL")
				e := f.History[len(f.History)-1]
				t.Logf("  start %6g: σ₀ %.4f σ %.4f NLL %.4f  best validation at %d", start, e.PriorStds[0], math.Sqrt(f.NoiseVariance()), v, e.Result.BestIteration)
			}
		}
	}
}
