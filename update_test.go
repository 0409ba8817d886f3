package valla

import (
	"slices"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
	vallagp "github.com/go-valla/valla/gp/valla"
)

// apart are the first rows of a set, and the others.
func apart(set *data.Set, first int) (a, b *data.Set) {
	rows := make([]int, set.N())
	for i := range rows {
		rows[i] = i
	}
	return set.Rows(rows[:first]), set.Rows(rows[first:])
}

// TestUpdateIsFit: a model predicts the same after an update as after a fit to all rows, in
// the units of the data. The old model stays, and the file holds the new one.
func TestUpdateIsFit(t *testing.T) {
	for _, classes := range []bool{false, true} {
		m, all := newTestModel(t, tensor.Float64, 0, 4), wave(40, 1)
		if classes {
			m, all = newTestClasses(t, tensor.Float64, 4), thirds(40, 1)
		}
		o := FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.7}, Validation: new(0.0)}
		start, rest := apart(all, 25)
		f := fit(t, m, start, o)
		before, want := numbers(predict(t, f, all.X)), numbers(predict(t, fit(t, m, all, o), all.X))
		u, err := f.Update(t.Context(), rest, gp.Run{})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range numbers(predict(t, u, all.X)) {
			near(t, "prediction", v, want[i], 1e-9)
		}
		if !slices.Equal(numbers(predict(t, f, all.X)), before) || slices.Equal(before, want) || len(f.History) != 2 {
			t.Error("the old model has changed, or the rows change nothing")
		}
		e := u.History[2]
		if len(u.History) != 3 || e.Action != ActionUpdate || e.Method != "lla" || e.Label != "LLA" || e.Rows != 15 || len(e.Facts) != 2 || e.Facts[0].Value == e.Facts[1].Value {
			t.Errorf("recorded %+v", e)
		}
		if bare := u.MAP(); len(bare.History) != 1 || bare.Posterior != nil {
			t.Errorf("without its posterior: %+v", bare.History)
		}
		comesBack(t, u, all.X)
	}
}

// TestUpdateOfEveryMethod: each method takes rows that make the variances smaller; SFR's own
// mean comes nearer to their targets.
func TestUpdateOfEveryMethod(t *testing.T) {
	set := wave(60, 2)
	start, rest := apart(set, 40)
	for name, s := range map[string]gp.Settings{
		"sfr": &sfr.Settings{PriorStd: 1, OwnMean: true, Points: 10}, "ella": &ella.Settings{PriorStd: 1, Points: 10, Rank: 5},
		"lla": &laplace.Settings{Structure: "kfac"}, "gp-subset": &laplace.SubsetSettings{Points: 10},
		"valla": &vallagp.Settings{Alpha: new(0.0), Inducing: 5, Iterations: 5},
	} {
		m := fit(t, newTestModel(t, tensor.Float32, 0, 4), start, FitOptions{Settings: s, Validation: new(0.0)})
		u, err := m.Update(t.Context(), rest, gp.Run{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before, after, smaller := predict(t, m, rest.X), predict(t, u, rest.X), 0
		for i, v := range after.Latent {
			if v < before.Latent[i] {
				smaller++
			}
		}
		if smaller < rest.N()*9/10 || u.Posterior.Method != name || u.NoiseVariance() != m.NoiseVariance() {
			t.Errorf("%s: %d of %d variances are smaller", name, smaller, rest.N())
		}
		if moved := !slices.Equal(before.Mean, after.Mean); moved != (name == "sfr") {
			t.Errorf("%s: the mean has moved: %t", name, moved)
		}
	}
}

// TestUpdateErrors: one line says why rows cannot be added.
func TestUpdateErrors(t *testing.T) {
	set, none := wave(20, 1), FitOptions{Validation: new(0.0)}
	with := func(s gp.Settings) *Model {
		o := none
		o.Settings = s
		return fit(t, newTestModel(t, tensor.Float64, 0, 4), set, o)
	}
	lla := with(&laplace.Settings{})
	for want, c := range map[string]struct {
		m   *Model
		set *data.Set
	}{
		"no posterior to add rows to":                           {lla.MAP(), set},
		"rows cannot be added to a posterior of the method toy": {with(&toySettings{}), set},
		"alpha=0 alone":                                {with(&vallagp.Settings{Inducing: 3, Iterations: 2}), set},
		"the structure lowrank":                        {with(&laplace.Settings{Structure: "lowrank", Rank: 2}), set},
		`expected the features ["a" "b"], found ["q"]`: {lla, &data.Set{Features: []string{"q"}, Targets: []string{"y"}, X: denseOf([]float64{1}, 1, 1), Y: denseOf([]float64{1}, 1, 1)}},
	} {
		u, err := c.m.Update(t.Context(), c.set, gp.Run{})
		if oneLine(t, err, "update: ", want); u != nil {
			t.Errorf("%s: model %v", want, u)
		}
	}
	classes := fit(t, newTestClasses(t, tensor.Float64, 4), thirds(20, 1), FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 1}, Validation: new(0.0)})
	other := thirds(4, 1)
	other.Y.Float64s()[2] = 7
	_, err := classes.Update(t.Context(), other, gp.Run{})
	oneLine(t, err, "update: ", "7")
}
