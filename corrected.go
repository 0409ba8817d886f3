package valla

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/corrected"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
)

// The means of predictions, see [FitOptions].
const (
	MeanNetwork   = "network"   // the network's output
	MeanCorrected = "corrected" // SFR's own mean, where held-out rows say that it is better
)

// checkMean returns an error for a mean that does not exist.
func checkMean(name string) error {
	if name == "" || name == MeanNetwork || name == MeanCorrected {
		return nil
	}
	return settings.Errorf("mean %q, expected %q or %q", name, MeanNetwork, MeanCorrected)
}

// A corrected mean is tried beside a fit where it is planned to take no longer than the fit, or than correctableSeconds, and it
// is recommended where the root mean squared error of held-out rows is at most correctableRMSE times the network's: less of a gain
// is seldom worth another mean, see docs/honest.md#corrected-means. The trial takes a random sample of correctableRows training
// rows, from the random stream correctableStream of the fit's seed: it may miss a gain that a mean of all rows has.
const (
	correctableSeconds, correctableRMSE = 1, 0.7
	correctableRows, correctableStream  = 5000, 11
)

// correctable returns a note if a corrected mean would be better than the network's output beside a fit with settings s.
func correctable(ctx context.Context, s gp.Settings, p gp.Problem, o FitOptions) []string {
	of, ok := s.(gp.Estimator)
	if !ok || o.Mean != "" || corrected.Check(p) != nil || layers.Members(p.Net) != nil {
		return nil
	}
	all := p
	p.Train, p.More = p.Train.Sample(correctableRows, rand.New(rand.NewPCG(o.Seed, correctableStream))), 0
	r := gp.Run{Seed: o.Seed, Memory: o.Memory}
	cost, err := corrected.Estimate(ctx, p, r)
	if err != nil {
		return nil
	}
	if cost.Seconds > correctableSeconds { // otherwise the plan of the fit, which may run a step, is not needed
		if fit, err := of.Estimate(ctx, all, r); err != nil || cost.Seconds > fit.Seconds {
			return nil
		}
	}
	_, gain, err := corrected.Try(ctx, p, r)
	if err != nil || !gain.Clear() || gain.Ratio > correctableRMSE {
		return nil
	}
	return []string{fmt.Sprintf("With a corrected mean (--corrected-mean) the root mean squared error of the held-out rows is %.2f times the network's.", gain.Ratio)}
}
