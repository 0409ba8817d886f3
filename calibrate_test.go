package valla

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/sets"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/sfr"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/holdout"
	"github.com/go-valla/valla/internal/kernel"
)

// TestTemperatureOne: it changes nothing, not even the last bit.
func TestTemperatureOne(t *testing.T) {
	x := wave(20, 1).X
	for name, m := range map[string]*Model{"numbers": newTestModel(t, tensor.Float64, 3, 4), "classes": newTestClasses(t, tensor.Float64, 3)} {
		one := *m
		one.Calibration = &Calibration{Temperature: 1}
		if !slices.Equal(numbers(predict(t, &one, x)), numbers(predict(t, m, x))) {
			t.Errorf("%s: other predictions", name)
		}
	}
}

// TestCalibrateTemperature: the temperature minimises the NLL of its rows, with a posterior
// and without one, and means stay.
func TestCalibrateTemperature(t *testing.T) {
	posterior := FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.7}, Validation: new(0.0)}
	classes := newTestClasses(t, tensor.Float64, 3)
	held := wave(60, 9)
	_, lawful := heavyModels(t, heavy(2000, 1))
	for name, m := range map[string]*Model{
		"a law of the residuals": lawful,
		"MAP":                    newTestModel(t, tensor.Float64, 0, 4), "VaLLA": newTestModel(t, tensor.Float64, 3, 4),
		"classes": classes, "classes, LLA": fit(t, classes, thirds(60, 3), posterior), "classes, float32": newTestClasses(t, tensor.Float32, 3),
	} {
		rows := held
		if m == lawful {
			rows = heavy(60, 9)
		} else if predict(t, m, held.X).Classes != nil {
			rows = thirds(60, 9)
		}
		nll := func(m *Model) float64 {
			s, err := m.Evaluate(t.Context(), rows, PredictOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return s.NLL()
		}
		c := calibrated(t, m, rows, "")
		best, other := nll(c), *c
		for k := -60; k <= 60; k++ {
			other.Calibration = &Calibration{Temperature: c.Calibration.Temperature * math.Exp(float64(k)/100)}
			if v := nll(&other); v < best-1e-9 {
				t.Errorf("%s: NLL %.10g at the temperature %g, %.10g at %g", name, best, c.Calibration.Temperature, v, other.Calibration.Temperature)
			}
		}
		e := c.History[len(c.History)-1]
		near(t, name+": NLL before", e.Facts[1].Value, nll(m), 1e-9)
		near(t, name+": NLL after", e.Facts[2].Value, best, 1e-9)
		if e.Action != ActionCalibrate || e.Method != CalibrateTemperature || e.Rows != 60 || e.Label != m.String()+", temperature" || c.String() != e.Label {
			t.Errorf("%s: event %+v", name, e)
		}
		if m.Calibration != nil || len(m.History) == len(c.History) || !slices.Equal(predict(t, c, rows.X).Mean, predict(t, m, rows.X).Mean) {
			t.Errorf("%s: the model or the means have changed", name)
		}
		if again := calibrated(t, c, rows, CalibrateTemperature); math.Abs(again.Calibration.Temperature-c.Calibration.Temperature) > 1e-12 {
			t.Errorf("%s: %g the second time, %g before", name, again.Calibration.Temperature, c.Calibration.Temperature)
		}
	}
}

// TestCalibrateConformal: bounds and sets hold their probability for fresh rows, though the
// model is wrong; everything else stays. So it is for each of several targets.
func TestCalibrateConformal(t *testing.T) {
	twoTargets, err := Train(t.Context(), twins(60, 1), quickTrain())
	if err != nil {
		t.Fatal(err)
	}
	set, fresh := wave(400, 5), wave(2000, 6)
	for name, m := range map[string]*Model{"MAP": newTestModel(t, tensor.Float64, 0, 4), "temperature": calibrated(t, newTestModel(t, tensor.Float64, 3, 4), wave(50, 7), ""), "two targets": twoTargets} {
		rows, test := set, fresh
		if name == "two targets" {
			rows, test = twins(400, 5), twins(2000, 6)
		}
		c := calibrated(t, m, rows, CalibrateConformal)
		p, before := predict(t, c, test.X), predict(t, m, test.X)
		p.Conformal, before.Conformal = nil, nil
		if !slices.Equal(numbers(p), numbers(before)) {
			t.Errorf("%s: other predictions", name)
		}
		covers(t, name, c, predict(t, c, test.X), test.Y)
	}
	classes := thirds(2400, 5) // whose classes depend on all rows
	c := calibrated(t, newTestClasses(t, tensor.Float64, 3), classes.Rows(dense.Indices(400)), CalibrateConformal)
	rest := classes.Rows(dense.UpTo(400, 2000))
	covers(t, "classes", c, predict(t, c, rest.X), rest.Y)
}

// covers checks the coverage of intervals or sets at rows.
func covers(t *testing.T, name string, m *Model, p *Prediction, y *tensor.Dense) {
	t.Helper()
	inside, size, err := p.Covered(y.Float64s(), 0.9)
	share := float64(inside) / float64(len(y.Float64s()))
	if err != nil || math.Abs(share-0.9) > 0.05 { // three standard errors of a Beta(361, 40)
		t.Errorf("%s: coverage %g, want 0.9, error %v", name, share, err)
	}
	if p.Classes != nil && !(size > 0.5 && size <= 3) {
		t.Errorf("%s: %g classes in a set", name, size)
	}
	if got := loaded(t, written(t, m)); inJSON(t, got.Calibration) != inJSON(t, m.Calibration) || !slices.Equal(got.Calibration.Conformal.Scores, m.Calibration.Conformal.Scores) {
		t.Errorf("%s: another calibration comes back from the file", name)
	}
}

// TestCalibrationEnds: another posterior ends a calibration.
func TestCalibrationEnds(t *testing.T) {
	set := wave(40, 3)
	m := fit(t, newTestModel(t, tensor.Float64, 0, 3), set, FitOptions{Settings: &sfr.Settings{Points: 10, PriorStd: 0.7}, Validation: new(0.0)})
	usual := m.UsualSpread()
	c := calibrated(t, calibrated(t, m, wave(40, 4), ""), wave(50, 5), CalibrateConformal)
	near(t, "usual spread", c.UsualSpread(), usual*c.Calibration.Temperature, 1e-12)
	if c.String() != m.String()+", temperature, conformal" || c.Uncalibrated().String() != m.String() || len(c.Uncalibrated().History) != len(m.History) {
		t.Errorf("names %q and %q", c, c.Uncalibrated())
	}
	if len(c.History[len(c.History)-1].Notes) != 0 {
		t.Errorf("notes %q", c.History[len(c.History)-1].Notes)
	}
	updated, err := c.Update(t.Context(), wave(20, 6), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := m.Update(t.Context(), wave(20, 6), gp.Run{})
	if err != nil {
		t.Fatal(err)
	}
	e, want := updated.History[len(updated.History)-1], plain.History[len(plain.History)-1]
	if updated.Calibration != nil || len(e.Notes) != 1 || inJSON(t, e.Facts) != inJSON(t, want.Facts) {
		t.Errorf("calibration %v after an update, event %+v, want the facts %+v", updated.Calibration, e, want.Facts)
	}
	if again := fit(t, c, set, FitOptions{Validation: new(0.0), Settings: &laplace.Settings{}}); again.Calibration != nil || len(again.History) != 2 {
		t.Errorf("calibration %v after a fit, history %+v", again.Calibration, again.History)
	}
	alone := newTestModel(t, tensor.Float64, 0, 3) // it says that it was trained on 5 rows, and not on which
	for _, own := range []*Model{calibrated(t, m, set, CalibrateTemperature), calibrated(t, alone, wave(5, 5), CalibrateTemperature)} {
		if notes := own.History[len(own.History)-1].Notes; len(notes) != 1 {
			t.Errorf("notes %q on the rows of the fit or the training", notes)
		}
	}
}

// TestCalibrateErrors: each is one line, of the right kind.
func TestCalibrateErrors(t *testing.T) {
	m, ctx := newTestClasses(t, tensor.Float64, 3), t.Context()
	_, err := m.Calibrate(ctx, thirds(9, 1), CalibrateOptions{Method: "platt"})
	oneLine(t, err, `calibrate: bad setting: calibration method "platt", expected "temperature", "vector", "conformal", "law" or "abstain"`)
	_, err = m.Calibrate(ctx, thirds(9, 1), CalibrateOptions{PredictOptions: PredictOptions{Link: MonteCarlo}})
	oneLine(t, err, `calibrate: bad setting: the link "mc" with the method "temperature", which needs none: expected "conformal" or "abstain"`)
	bars, set := *m, thirds(60, 1)
	of := *m.Task.Outputs.(*task.Classification)
	of.Names = []string{"a", "b", "a|b"}
	bars.Task.Outputs, set.Labels = &of, of.Names
	_, err = bars.Calibrate(ctx, set, CalibrateOptions{Method: CalibrateConformal})
	oneLine(t, err, `calibrate: bad setting: the class "a|b" has a bar`)
	_, err = m.Calibrate(ctx, wave(9, 1), CalibrateOptions{})
	oneLine(t, err, "calibrate: row 0 (counting from 0), target", "none of the 3 classes")
	stopped, stop := context.WithCancel(ctx)
	stop()
	for _, how := range []string{CalibrateTemperature, CalibrateVector, CalibrateConformal} {
		if _, err := m.Calibrate(stopped, thirds(9, 1), CalibrateOptions{Method: how}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, ended: %v", how, err)
		}
	}
	p := predict(t, m, wave(3, 1).X)
	_, err = p.Sets(0.9)
	oneLine(t, err, "calibrated by the method conformal")
	mc, err := m.Calibrate(ctx, thirds(9, 1), CalibrateOptions{Method: CalibrateConformal, PredictOptions: PredictOptions{Link: MonteCarlo, Samples: 10}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = mc.Predict(ctx, wave(3, 1).X, PredictOptions{}); !errors.Is(err, ErrSetting) {
		t.Errorf("another link: %v", err)
	}
	oneLine(t, err, `the link is "probit", but the conformal calibration was made with "mc"`)
	p, err = mc.Predict(ctx, wave(3, 1).X, PredictOptions{Link: MonteCarlo})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = p.Sets(0.95); !errors.Is(err, ErrSetting) {
		t.Errorf("too few rows: %v", err)
	}
	oneLine(t, err, "needs a conformal calibration with 19 rows at least, this one has 9")
}

// TestConformalOnTables: a network is trained on half of a table's rows. Of the others, 200
// random divisions calibrate with one half and count in the other. The coverage of 90 % intervals is
// then k/(n+1) on average, k = ⌈0.9 (n+1)⌉, and the number of rows inside is beta-binomial,
// whatever the table. So it is of both kinds of sets where the target's quarters are classes. With
// -v it prints the tables in docs/uncertainty.md.
func TestConformalOnTables(t *testing.T) {
	const folder = "../shared/data"
	if _, err := os.Stat(filepath.Join(folder, "uci")); err != nil || testing.Short() {
		t.Skip("needs the UCI tables in ", folder)
	}
	for _, name := range []string{"boston", "concrete", "energy"} {
		s, err := sets.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		of, err := s.Table(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, classes := range []bool{false, true} {
			if classes {
				of.Train = quarters(of.Train)
			}
			train, pool := holdout.Halves(of.Train, 1)
			m, err := Train(t.Context(), train, TrainOptions{Training: Training{Iterations: 1000}, Classes: classes})
			if err != nil {
				t.Fatal(err)
			}
			p, y := predict(t, m, pool.X), pool.Y.Float64s()
			if !classes {
				gaussian, _, err := p.Covered(y, 0.9)
				if err != nil {
					t.Fatal(err)
				}
				divisions(t, fmt.Sprintf("%s, Gaussian intervals hold %.3f", name, float64(gaussian)/float64(len(y))), p, y, "")
				continue
			}
			divisions(t, name, p, y, calibrate.LAC)
			divisions(t, name, p, y, calibrate.APS)
		}
	}
}

// quarters is a set whose classes are the quarters of its target.
func quarters(s *data.Set) *data.Set {
	y := s.Y.Float64s()
	sorted, classes := slices.Sorted(slices.Values(y)), make([]float64, len(y))
	for i, v := range y {
		for q := 1; q < 4 && v > sorted[q*len(y)/4]; q++ {
			classes[i] = float64(q)
		}
	}
	return &data.Set{Features: s.Features, Targets: s.Targets, X: s.X, Y: tensor.New(tensor.WithShape(len(y), 1), tensor.WithBacking(classes))}
}

// divisions checks the coverage over random divisions of predictions.
func divisions(t *testing.T, name string, p *Prediction, y []float64, kind string) {
	t.Helper()
	const level, splits = 0.9, 200
	n, rng, inside, width := len(y)/2, holdout.Rand(1, 0), 0.0, 0.0
	for range splits {
		order := rng.Perm(len(y))
		some, rest := taken(p, order[:n]), taken(p, order[n:])
		if p.Classes == nil {
			rest.Conformal = calibrate.Numbers(some.Mean, some.Variance, of(y, order[:n]), 1)
		} else {
			var labels []int
			for _, v := range of(y, order[:n]) {
				labels = append(labels, slices.Index(p.Classes, v))
			}
			rest.Conformal = calibrate.Classes(some.Probs, labels, string(Probit), kind, 1)
		}
		hits, size, err := rest.Covered(of(y, order[n:]), level)
		if err != nil {
			t.Fatal(err)
		}
		if p.Classes == nil {
			size, _ = rest.Conformal.Quantile(0, level)
		}
		inside, width = inside+hits, width+size/splits
	}
	rest, all := float64(len(y)-n), float64(n+1)
	want := math.Ceil(level*all-1e-9) / all
	spread := math.Sqrt(want * (1 - want) * (1/(all+1) + (1-1/(all+1))/rest) / splits)
	share := float64(inside) / (rest * splits)
	t.Logf("| %s %s | %d | %.4f | %.4f ± %.4f | %.2f |", name, kind, n, want, share, spread, width)
	if math.Abs(share-want) > 3*spread {
		t.Errorf("%s %s: coverage %.4f, want %.4f ± %.4f", name, kind, share, want, spread)
	}
}

// taken is the prediction for some of the rows.
func taken(p *Prediction, rows []int) *Prediction {
	out := &Prediction{Targets: p.Targets, Classes: p.Classes, Link: p.Link}
	if p.Classes == nil {
		out.Mean, out.Variance = of(p.Mean, rows), of(p.Variance, rows)
	}
	for _, i := range rows {
		if c := len(p.Classes); c > 0 {
			out.Probs = append(out.Probs, p.Probs[i*c:(i+1)*c]...)
		}
	}
	return out
}

// of returns some elements.
func of(v []float64, at []int) (out []float64) {
	for _, i := range at {
		out = append(out, v[i])
	}
	return out
}

// TestCalibrateVector: it is at least as good as the best temperature on its rows, changes the
// probabilities as scaled logits do, comes back from a file and is kept by a conformal calibration.
func TestCalibrateVector(t *testing.T) {
	o := quickTrain()
	o.Classes = true
	classes, err := Train(t.Context(), thirds(200, 1), o)
	if err != nil {
		t.Fatal(err)
	}
	rows := muddled(120, 9)
	posterior := FitOptions{Settings: &laplace.Settings{Hyper: "fixed", PriorStd: 0.1}, Validation: new(0.0)}
	for name, m := range map[string]*Model{"MAP": classes, "LLA": fit(t, classes, thirds(60, 3), posterior)} {
		c := calibrated(t, m, rows, CalibrateVector)
		e := c.History[len(c.History)-1]
		one := calibrated(t, m, rows, CalibrateTemperature).History
		if tempered := one[len(one)-1].Facts[2].Value; !(e.Facts[3].Value <= tempered+1e-9) || c.String() != m.String()+", vector" || len(e.Notes) != 0 {
			t.Errorf("%s: event %+v, NLL %g with a temperature", name, e, tempered)
		}
		v := c.Calibration.Vector
		g, err := m.Latent(t.Context(), rows.X)
		if err != nil {
			t.Fatal(err)
		}
		p, logits, k := predict(t, c, rows.X), make([]float64, 3), 0
		for i := range rows.N() {
			for ; k < 3*(i+1); k++ {
				w := v.Scale[k%3]
				logits[k%3] = (w*g.Mean[k] + v.Bias[k%3]) / math.Sqrt(1+math.Pi/8*w*w*g.Cov[3*k+k%3])
			}
			kernel.Softmax(logits, logits)
			near(t, name+": probability", p.Probs[3*i], logits[0], 1e-12)
		}
		both := loaded(t, written(t, calibrated(t, c, thirds(60, 4), CalibrateConformal)))
		if both.String() != m.String()+", vector, conformal" || inJSON(t, both.Calibration.Vector) != inJSON(t, v) || !slices.Equal(predict(t, both, rows.X).Probs, p.Probs) {
			t.Errorf("%s: %s comes back with %+v", name, both, both.Calibration)
		}
		same := *m
		same.Calibration = &Calibration{Temperature: 1.6}
		equal := *m
		equal.Calibration = &Calibration{Vector: &calibrate.Vector{Scale: slices.Repeat([]float64{1 / 1.6}, 3), Bias: make([]float64, 3)}}
		if !slices.Equal(predict(t, &same, rows.X).Probs, predict(t, &equal, rows.X).Probs) {
			t.Errorf("%s: equal scales are no temperature", name)
		}
	}
	turned := calibrated(t, classes, muddled(59, 9), CalibrateVector)
	notes := strings.Join(turned.History[len(turned.History)-1].Notes, " ")
	if !strings.Contains(notes, "59 rows have chosen 6 numbers") || !strings.Contains(notes, "The scale of the class 4 is below 0") {
		t.Errorf("notes %q with %+v", notes, turned.Calibration.Vector)
	}
	_, err = newTestModel(t, tensor.Float64, 0, 3).Calibrate(t.Context(), wave(9, 1), CalibrateOptions{Method: CalibrateVector})
	oneLine(t, err, "scales the logits of classes, and the targets are numbers")
	damaged := *classes
	damaged.Calibration = &Calibration{Vector: &calibrate.Vector{Scale: []float64{1, 2, math.Inf(1)}, Bias: make([]float64, 3)}}
	oneLine(t, damaged.Save(filepath.Join(t.TempDir(), "m.valla")), "the scale +Inf and the bias 0 of class 2")
}

// muddled is thirds with the class of another row in each sixth row.
func muddled(n int, seed uint64) *data.Set {
	set := thirds(n, seed)
	for i, y := 0, set.Y.Float64s(); i+1 < n; i += 6 {
		y[i] = y[i+1]
	}
	return set
}

// TestCalibrateSets: sets of both kinds hold their probability. A row alone has the same sets.
func TestCalibrateSets(t *testing.T) {
	set := thirds(2400, 5)
	m, rest := newTestClasses(t, tensor.Float64, 3), set.Rows(dense.UpTo(400, 2000))
	for _, link := range []task.Link{Probit, Bridge} {
		o := CalibrateOptions{Method: CalibrateConformal, Sets: calibrate.APS, PredictOptions: PredictOptions{Seed: 3, Link: link}}
		c, err := m.Calibrate(t.Context(), set.Rows(dense.Indices(400)), o)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Predict(t.Context(), rest.X, PredictOptions{Link: link})
		if err != nil {
			t.Fatal(err)
		}
		covers(t, "aps, "+string(link), c, p, rest.Y)
		all, err := p.Sets(0.9)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{7, 1999} {
			one, err := c.Predict(t.Context(), rest.Rows([]int{i}).X, PredictOptions{Link: link})
			if err != nil {
				t.Fatal(err)
			}
			if alone, err := one.Sets(0.9); err != nil || !slices.Equal(alone[0], all[i]) {
				t.Errorf("row %d has the set %v alone and %v among others, error %v", i, alone, all[i], err)
			}
		}
	}
	_, err := m.Calibrate(t.Context(), set, CalibrateOptions{Method: CalibrateConformal, Sets: "best"})
	oneLine(t, err, `sets "best" of the task classification, expected "lac", "aps" or "raps" of classes`)
}

// TestGroupsInSingle: a network in float32 puts a row at the edge of a group into the same group with other rows and alone.
func TestGroupsInSingle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := func(n int) *data.Set {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(1000)) / 10
			y[i] = x[i]/10 + rng.NormFloat64()
		}
		return &data.Set{Features: []string{"a"}, Targets: []string{"y"}, X: denseOf(x, n, 1), Y: denseOf(y, n, 1)}
	}
	m, err := Train(t.Context(), rows(300), TrainOptions{Network: Network{Hidden: []int{6}, Dtype: "float32"}, Training: Training{Iterations: 50}})
	if err == nil {
		m, err = m.Calibrate(t.Context(), rows(1000), CalibrateOptions{Method: CalibrateConformal, Groups: "a"})
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predictor(PredictorOptions{})
	if err != nil {
		t.Fatal(err)
	}
	edges := m.Calibration.Conformal.Groups.Edges
	all, err := m.Predict(t.Context(), denseOf(edges, len(edges), 1), PredictOptions{})
	if err != nil || len(edges) < 3 {
		t.Fatalf("edges %v, error %v", edges, err)
	}
	for i, edge := range edges {
		var one Prediction
		if err := p.Predict(t.Context(), []float64{edge}, &one); err != nil || one.Groups[0] != all.Groups[i] {
			t.Errorf("%g is in group %v alone and %d with others, error %v", edge, one.Groups, all.Groups[i], err)
		}
	}
}
