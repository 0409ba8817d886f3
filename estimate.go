package valla

import (
	"cmp"
	"context"
	"math"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/ram"
)

// estimate calls OnEstimate with the estimate of the fit and its verdict, if the method has one.
func (m *Model) estimate(ctx context.Context, s gp.Settings, p gp.Problem, rows division, o FitOptions) error {
	e, ok := s.(gp.Estimator)
	if !ok || o.OnEstimate == nil {
		return nil
	}
	taken := ram.Taken()
	cost, err := e.Estimate(ctx, p, o.Run)
	if err != nil {
		return err
	}
	share, err := judgedShare(p)
	if err != nil {
		return err
	}
	usual, judging := share*float64(min(p.Train.N(), usualRows)), rows.judging(share)
	predicted := usual + judging + float64(gp.EngineInputs(cost.RowBytes)) // the engine runs once at first
	if p.Tempered && m.Task.Classifies() {                                 // see fitTemperature
		predicted += min(float64(p.Validation.N()), float64(mostJudges(share)))
	}
	if f := m.features; f != nil && f.chosen != nil {
		cost.With, cost.Longer, cost.LongerSeconds = f.chosen.With, f.chosen.Longer, f.chosen.LongerSeconds
	}
	after := predicted * cost.Row
	after += gp.HandledSeconds(usual+4*judging, m.Task.Size()) // the network alone is judged, too, see rivals
	alone, err := passSeconds(p)
	if err != nil {
		return err
	}
	after += alone
	cost.Seconds += after
	if cost.LongerSeconds > 0 {
		cost.LongerSeconds += after
	}
	used := max(cost.Bytes, cost.Kept+m.predictionBytes(cost.RowBytes, int(math.Ceil(max(usual, judging)))))
	cost.Bytes = programBytes() + taken + used + used/8 // garbage: between none and a quarter of what is used
	o.OnEstimate(cost)
	return nil
}

// judging returns how many rows a verdict predicts: a share of them, unless they were given.
func (d division) judging(share float64) float64 {
	if d.given {
		return float64(d.judge.N())
	}
	return share * float64(min(cmp.Or(d.judge, d.held, d.train).N(), holdout.MostJudges))
}

// passSeconds returns how long the network alone takes after a fit: at rows of the fit for warnings, and at held-out rows
// for its rivals.
func passSeconds(p gp.Problem) (float64, error) {
	cost, err := gp.ForwardCost(p)
	rows := min(p.Train.N(), mostWarned)
	if p.Validation != nil {
		rows += min(p.Validation.N(), holdout.MostJudges)
	}
	var plan gp.Plan
	plan.Run(cost, float64(rows))
	all, err := plan.Estimate(err)
	return all.Seconds, err
}

// programBytes returns the memory of the program's file: the pages that are read already, and those that a fit will read. A fit
// by any method read 1 to 3 MiB more, of the 70 MB of the program for Linux on amd64. It is at least the 46 MiB of pages
// that these fits had read at their end: a system that needs memory takes pages back, and the fit reads them again.
func programBytes() int64 {
	const usual = 46 << 20
	if kib, ok := ram.Field("/proc/self/status", "RssFile:"); ok {
		return max(usual, kib<<10+2<<20)
	}
	return usual
}

// predictionBytes returns the memory of predictions of n inputs, each of which takes so many bytes of a compiled
// prediction: a part of latent distributions, the engine, and the probabilities of two predictions.
func (m *Model) predictionBytes(row int64, n int) int64 {
	c := m.Task.Size()
	each := m.covariances()
	part := min(n, gp.PartRows(c*each))
	return gp.Numbers(part, c, each) + gp.EngineBytes(row) + gp.Numbers(2, n, c)
}
