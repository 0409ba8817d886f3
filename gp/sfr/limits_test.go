package sfr

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"gorgonia.org/tensor"
)

// forms are the settings of both forms with each mean.
func forms(prior float64) map[string]Settings {
	return map[string]Settings{
		"separate": {PriorStd: prior}, "separate, own mean": {PriorStd: prior, OwnMean: true},
		"joint": {PriorStd: prior, Outputs: outputsJoint}, "joint, own mean": {PriorStd: prior, Outputs: outputsJoint, OwnMean: true},
	}
}

// tolerance returns the tolerance, in the type dt, for sums in another order, where K̂_z has a
// condition number of some 1e8.
func tolerance(dt tensor.Dtype) float64 {
	if dt == tensor.Float32 {
		return 1e-4
	}
	return 1e-7
}

// TestOneOutput: separate and joint outputs are the same where there is one.
func TestOneOutput(t *testing.T) {
	p := small.Problem(t, 1, tensor.Float64, 40, 5, 1, false)
	z := firstRows(p, 9)
	mean, cov := small.Moments(t, fitted(t, p, Settings{PriorStd: 0.8, OwnMean: true}, z), p.Validation.X)
	mean2, cov2 := small.Moments(t, fitted(t, p, Settings{PriorStd: 0.8, OwnMean: true, Outputs: outputsJoint}, z), p.Validation.X)
	fixture.Close(t, "mean", mean2, mean, 1e-9)
	fixture.Close(t, "covariance", cov2, cov, 1e-9)
}

// TestUpdateIsFit: rows that are added later, also to a posterior from a file, count as if
// they had been there.
func TestUpdateIsFit(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, classes := range []bool{false, true} {
			all := small.Problem(t, 2, dt, 50, 6, 3, classes)
			z, probe := firstRows(all, 8), all.Validation.X
			all.Validation = nil // the noise is not to be found again
			before, later := all, all
			before.Train, later.Train = all.Train.Rows(dense.Indices(30)), all.Train.Rows(dense.Indices(50)[30:])
			if !classes { // another posterior's noise, which is not the one of the sums
				later.Likelihood = likelihood.WithNoise(all.Likelihood, 3*likelihood.NoiseVariance(all.Likelihood))
			}
			for name, s := range forms(0.7) {
				what := fmt.Sprint(dt, ", classes ", classes, ", ", name)
				mean, cov := small.Moments(t, fitted(t, all, s, z), probe)
				q := fitted(t, before, s, z)
				_, wide := small.Moments(t, q, probe)
				for how, from := range map[string]gp.Updater{"": q, ", restored": restored(t, before, q)} {
					u, err := from.Update(t.Context(), later, gp.Run{})
					if err != nil {
						t.Fatal(err)
					}
					m, c := small.Moments(t, u, probe)
					fixture.Close(t, what+how+": mean", m, mean, tolerance(dt))
					fixture.Close(t, what+how+": covariance", c, cov, tolerance(dt))
				}
				if fixture.RelErr(wide, cov) < 1e-2 {
					t.Errorf("%s: 20 rows of 50 change the covariance by %g: the test shows nothing", what, fixture.RelErr(wide, cov))
				}
			}
		}
	}
}

// restored is a posterior that has been in a file.
func restored(t *testing.T, p gp.Problem, q *posterior) *posterior {
	t.Helper()
	state, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	m, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	r, err := restore(t.Context(), p.Net, p.Likelihood, m)
	if err != nil {
		t.Fatal(err)
	}
	return r.(*posterior)
}

// TestFloat32: networks of float32, also convolutional networks, have the predictions of the same
// networks in float64, whose weights and data differ by rounding.
func TestFloat32(t *testing.T) {
	all := small.Must(t, gptest.Problems)
	for i, p := range all[:len(all)/2] {
		single := all[len(all)/2+i]
		for name, s := range forms(0.5) {
			mean, cov := small.Moments(t, fitted(t, p.Problem, s, firstRows(p.Problem, 4)), p.Probe)
			mean2, cov2 := small.Moments(t, fitted(t, single.Problem, s, firstRows(single.Problem, 4)), single.Probe)
			fixture.Close(t, single.Name+", "+name+": mean", mean2, mean, 1e-4)
			fixture.Close(t, single.Name+", "+name+": covariance", cov2, cov, 1e-4)
		}
	}
}

// TestManyInputs: inputs beyond those that are converted at a time count as the others do.
func TestManyInputs(t *testing.T) {
	p := small.Problem(t, 3, tensor.Float32, convertAtOnce+105, 5, 2, true)
	q := fitted(t, p, Settings{PriorStd: 1}, firstRows(p, 6))
	mean, cov := small.Moments(t, q, p.Train.X)
	last := []int{convertAtOnce - 1, convertAtOnce, convertAtOnce + 104}
	mean2, cov2 := small.Moments(t, q, data.TakeRows(p.Train.X, last))
	for i, r := range last {
		fixture.Close(t, "mean", mean[2*r:2*r+2], mean2[2*i:2*i+2], 1e-12)
		fixture.Close(t, "covariance", cov[4*r:4*r+4], cov2[4*i:4*i+4], 1e-12)
	}
	once := fitted(t, gp.Problem{Net: p.Net, Likelihood: p.Likelihood, Train: p.Train.Rows(dense.Indices(convertAtOnce))}, Settings{PriorStd: 1}, firstRows(p, 6))
	rest := gp.Problem{Net: p.Net, Likelihood: p.Likelihood, Train: p.Train.Rows(dense.Indices(convertAtOnce + 105)[convertAtOnce:])}
	u, err := once.Update(t.Context(), rest, gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	_, cov2 = small.Moments(t, u, p.Validation.X)
	_, cov = small.Moments(t, q, p.Validation.X)
	fixture.Close(t, "an update with the rest", cov2, cov, 1e-9)
}

// TestMemory: a fit within the memory of smaller batches is the same. Where a fit needs more than
// the limit, the error says how much memory the fit needs.
func TestMemory(t *testing.T) {
	p := small.Problem(t, 4, tensor.Float64, 60, 8, 3, true)
	fit := func(limit int64) (*gp.Fitted, error) {
		return (&Settings{Points: 8, PriorStd: 1}).Fit(t.Context(), p, gp.Run{Seed: 1, Memory: limit})
	}
	whole, err := fit(0)
	if err != nil {
		t.Fatal(err)
	}
	mean, cov := small.Moments(t, whole.Posterior, p.Validation.X)
	parts, fewest := 0, int64(0)
	for limit := int64(1 << 20); limit > 1<<10; limit = limit * 3 / 4 {
		f, err := fit(limit)
		if errors.As(err, new(*graph.MemoryError)) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		parts, fewest = parts+1, limit
		mean2, cov2 := small.Moments(t, f.Posterior, p.Validation.X)
		fixture.Close(t, "mean", mean2, mean, 1e-9)
		fixture.Close(t, "covariance", cov2, cov, 1e-9)
	}
	if parts < 5 || fewest < 8<<10 {
		t.Errorf("%d limits down to %d bytes were enough", parts, fewest)
	}
	q := whole.Posterior.(*posterior)
	if _, err := q.Update(t.Context(), p, gp.Run{Memory: 100}); !errors.As(err, new(*graph.MemoryError)) {
		t.Errorf("an update with 100 bytes: error %v", err)
	}
	q.limit = 1000
	if _, _, err := q.Joint(t.Context(), p.Train.X); !errors.As(err, new(*graph.MemoryError)) {
		t.Errorf("a joint covariance in 1000 bytes: error %v", err)
	}
}
