package ensemble

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/layers"
)

// Of returns settings that fit the posterior of s to each member of an ensemble of networks, one after the other. For a
// network that is no ensemble Of returns s.
func Of(net layers.Network, s gp.Settings) gp.Settings {
	all := layers.Members(net)
	if all == nil {
		return s
	}
	e := each{s, len(all)}
	if of, ok := s.(gp.Estimator); ok {
		return estimated{e, of}
	}
	return e
}

// each are settings of the posterior of each member.
type each struct {
	gp.Settings
	members int // number of members
}

// estimated are settings whose cost is known beforehand.
type estimated struct {
	each
	of gp.Estimator // the settings of one member
}

// Label implements gp.Settings.
func (s each) Label() string { return label(s.members, s.Settings.Label()) }

// label names a posterior of an ensemble.
func label(members int, of string) string { return fmt.Sprintf("%d × %s", members, of) }

// Fit implements gp.Settings. Member k, counting from 1, has the seed Seed+k−1 and the checkpoint path.k.
func (s each) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	if err := Check(p.Likelihood); err != nil {
		return nil, err
	}
	p.Tempered = false // the mixture of all members may have a temperature, and a member has none
	q, out := &posterior{}, &gp.Fitted{}
	for k, net := range layers.Members(p.Net) {
		p.Net = net
		f, err := s.Settings.Fit(ctx, p, member(r, k, s.members))
		if err != nil {
			return nil, fmt.Errorf("network %d: %w", k+1, err)
		}
		q.add(f.Posterior, gp.Scatter(likelihood.WithNoise(p.Likelihood, f.NoiseVariance)))
		out.NoiseVariance += f.NoiseVariance / float64(s.members)
		out.Record = joined(out.Record, f.Record, k)
	}
	out.Posterior = q
	return out, nil
}

// Estimate implements gp.Estimator: the members are fitted one after the other, and their posteriors are kept.
func (s estimated) Estimate(ctx context.Context, p gp.Problem, r gp.Run) (gp.Estimate, error) {
	p.Net = layers.Members(p.Net)[0]
	e, err := s.of.Estimate(ctx, p, r)
	n := int64(s.members)
	e.Bytes += (n - 1) * e.Kept
	e.Kept, e.RowBytes = n*e.Kept, n*e.RowBytes
	e.Flops, e.RowFlops = e.Flops.Times(float64(n)), e.RowFlops.Times(float64(n))
	e.Seconds, e.CheaperSeconds, e.LongerSeconds, e.Row = float64(n)*e.Seconds, float64(n)*e.CheaperSeconds, float64(n)*e.LongerSeconds, float64(n)*e.Row
	return e, err
}

// Check returns an error that wraps gp.ErrProblem for an observation model that an ensemble cannot serve: one with
// parameters, which the members would learn differently.
func Check(l likelihood.Likelihood) error {
	if len(l.Params()) > 0 && !likelihood.IsGaussian(l) {
		return gp.CannotServe("an ensemble of networks", l)
	}
	return nil
}

// member returns the run of member k of n, counting from 0.
func member(r gp.Run, k, n int) gp.Run {
	r.Seed += uint64(k)
	if r.Checkpoint != "" {
		r.Checkpoint = fmt.Sprintf("%s.%d", r.Checkpoint, k+1)
	}
	return r.Part(1000*k/n, 1000*(k+1)/n)
}

// joined adds the record of member k, counting from 0, to the record of the members before.
func joined(all, of gp.Record, k int) gp.Record {
	if k == 0 {
		all = of
		all.Facts, all.Notes, all.Groups, all.PriorStds = nil, nil, nil, nil
	}
	all.Untouched = all.Untouched && of.Untouched
	for i, std := range of.PriorStds {
		name := "prior standard deviation"
		if of.Groups != nil {
			name += " of " + of.Groups[i]
		}
		of.Facts = append(of.Facts, gp.Fact{Name: name, Value: std})
	}
	for _, f := range of.Facts {
		all.Facts = append(all.Facts, gp.Fact{Name: fmt.Sprintf("network %d: %s", k+1, f.Name), Value: f.Value})
	}
	for _, note := range of.Notes {
		all.Notes = append(all.Notes, fmt.Sprintf("Network %d: %s", k+1, note))
	}
	return all
}
