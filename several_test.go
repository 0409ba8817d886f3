package valla

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/ella"
	"github.com/go-valla/valla/gp/fmgp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/mfvi"
	"github.com/go-valla/valla/gp/sfr"
	vallagp "github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// severalModels are three networks for the rows of heavy, and the ensemble of them.
func severalModels(t *testing.T, dtype string) (members []*Model, all *Model) {
	t.Helper()
	o := quickTrain()
	o.Network.Dtype = dtype
	for seed := range uint64(3) {
		o.member = seed
		m, err := Train(t.Context(), heavy(200, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
	}
	all, err := Combine(members...)
	if err != nil {
		t.Fatal(err)
	}
	return members, all
}

// TestCombine: the prediction of an ensemble has the mean of the members and, beside the mean of their variances, the
// variance between them, without posteriors and with posteriors of several methods, also from a file. An ensemble of
// equal members is the member.
func TestCombine(t *testing.T) {
	set, fresh := heavy(200, 1), heavy(50, 2)
	for i, s := range []gp.Settings{nil, &vallagp.Settings{Inducing: 8, Iterations: 30}, &laplace.Settings{}, &ella.Settings{Points: 20}, &sfr.Settings{Points: 20}, &fmgp.Settings{Iterations: 30}, &mfvi.Settings{Iterations: 30}} {
		dtype := []string{"float64", "float32"}[i%2]
		members, all := severalModels(t, dtype)
		o := FitOptions{Settings: s, Law: "gaussian", Held: heavy(60, 3)}
		if s != nil {
			for k, m := range members {
				o.Seed, m.Task = uint64(k), all.Task // the noise from which the fits start
				members[k] = fit(t, m, set, o)
			}
			o.Seed = 0
			all = loaded(t, written(t, fit(t, all, set, o)))
		}
		got := predict(t, all, fresh.X)
		for row := range fresh.N() {
			mean, within, square := 0.0, 0.0, 0.0
			for _, m := range members {
				p := predict(t, m, fresh.X)
				mean, within, square = mean+p.Mean[row]/3, within+p.Std()[row]*p.Std()[row]/3, square+p.Mean[row]*p.Mean[row]/3
			}
			want := math.Sqrt(within + square - mean*mean)
			if tol := 1e-4 * want; math.Abs(got.Mean[row]-mean) > tol || math.Abs(got.Std()[row]-want) > tol {
				t.Fatalf("%v row %d: mean %g and std %g, want %g and %g", all, row, got.Mean[row], got.Std()[row], mean, want)
			}
		}
		if s != nil && !strings.HasPrefix(all.String(), "3 × ") {
			t.Errorf("the model is called %v", all)
		}
	}
}

// TestTrainSeveral: several networks of a training are an ensemble that saves, fits, exports and predicts like any model.
func TestTrainSeveral(t *testing.T) {
	o := quickTrain()
	o.Training.Networks = 3
	set, fresh := heavy(300, 1), heavy(100, 2)
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(layers.Members(m.Net)); n != 3 {
		t.Errorf("%d networks of three", n)
	}
	fitted := fit(t, loaded(t, written(t, m)), set, FitOptions{Settings: &vallagp.Settings{Inducing: 8, Iterations: 50}})
	again := loaded(t, written(t, fitted))
	if a, b := numbers(predict(t, fitted, fresh.X)), numbers(predict(t, again, fresh.X)); !slices.Equal(a, b) {
		t.Error("other predictions after a file")
	}
	for _, of := range []*Model{m, again} {
		if _, err := of.Export(t.Context(), filepath.Join(t.TempDir(), "net.onnx"), ExportOptions{Rows: fresh.X}); err != nil {
			t.Errorf("%v: %v", of, err)
		}
		if _, err := of.Evaluate(t.Context(), fresh, PredictOptions{}); err != nil {
			t.Errorf("%v: %v", of, err)
		}
	}
	if v := fitted.History[len(fitted.History)-1].Verdict; v == nil {
		t.Errorf("verdict %v", v)
	}
	if s, err := fitted.Sample(t.Context(), fresh.X, SampleOptions{Samples: 2}); err != nil || s == nil {
		t.Errorf("samples: %v", err)
	}
}

// TestTwins: the fit of an ensemble in which two networks have equal weights says which they are.
func TestTwins(t *testing.T) {
	members, all := severalModels(t, "float32")
	twice, err := Combine(all, members[1])
	if err != nil {
		t.Fatal(err)
	}
	const want = "The networks 2 and 4 of the ensemble have equal weights"
	for name, m := range map[string]*Model{"different": all, "equal": twice} {
		fitted := fit(t, m, heavy(200, 1), FitOptions{Settings: &laplace.Settings{}})
		notes := fitted.History[len(fitted.History)-1].Notes
		if found := slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, want) }); found != (name == "equal") {
			t.Errorf("%s networks: notes %q", name, notes)
		}
	}
}

// TestCombineErrors: models of other inputs, outputs or types are refused in one line that names the model.
func TestCombineErrors(t *testing.T) {
	m, set := trained(t)
	o := quickTrain()
	train := func(set *data.Set, o TrainOptions) *Model {
		other, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		return other
	}
	narrow := o
	narrow.Network.Dtype = "float32"
	renamed := *set
	renamed.Targets = []string{"other"}
	for want, other := range map[string]*Model{
		"combine: model 2: a network of float32, expected float64 as model 1": train(set, narrow),
		"combine: model 2: other inputs or another scaling of the inputs":     train(wave(150, 3), o),
		`combine: model 2: regression of ["other"], expected regression of [`: train(&renamed, o),
	} {
		if _, err := Combine(m, other); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := Combine(); err == nil {
		t.Error("no error of no models")
	}
}

// TestSeveralWithoutEstimate: a method that cannot tell its cost beforehand is fitted to an ensemble, too.
func TestSeveralWithoutEstimate(t *testing.T) {
	_, all := severalModels(t, "float64")
	m := fit(t, all, heavy(200, 1), FitOptions{Settings: &toySettings{}, OnEstimate: func(gp.Estimate) { t.Error("an estimate of a method that has none") }})
	if m.String() != "3 × Toy 0.5" {
		t.Errorf("the model is called %v", m)
	}
}

// TestTrainSeveralGoesOn: a resumed training of several networks does not choose the steps of the first one again, and leaves no
// checkpoints of trials.
func TestTrainSeveralGoesOn(t *testing.T) {
	o, set := openRecipe(), wave(80, 1)
	o.Training.Networks, o.Training.WeightDecay = 2, new(0.01)
	o.Checkpoint, o.Resume = filepath.Join(t.TempDir(), "c"), true
	trials := func() []string {
		found, err := filepath.Glob(o.Checkpoint + ".1.*")
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := 0 // steps of the first network
	o.OnProgress = func(p train.Progress) {
		if p.Done > p.Total/2 {
			cancel()
		} else {
			first++
		}
	}
	if m, err := Train(ctx, set, o); !errors.Is(err, context.Canceled) || m == nil || first == 0 || trials() == nil {
		t.Fatalf("model %v after %d steps of the first network, %d trials, error %v", m, first, len(trials()), err)
	}
	first = 0
	if _, err := Train(t.Context(), set, o); err != nil || first > 0 || trials() != nil {
		t.Errorf("%d steps of the first network, %d trials left, error %v", first, len(trials()), err)
	}
}

// TestTrainSeveralRefuses: an observation model with parameters of its own is refused before a network is trained.
func TestTrainSeveralRefuses(t *testing.T) {
	o := quickTrain()
	o.Training.Networks, o.Likelihood = 2, namedLikelihood(t, "student-t")
	o.OnProgress = func(train.Progress) { t.Fatal("a step") }
	if m, err := Train(t.Context(), heavy(100, 1), o); m != nil || err == nil || !strings.Contains(err.Error(), "an ensemble of networks cannot serve the likelihood student-t") {
		t.Errorf("error %v", err)
	}
}

func namedLikelihood(t *testing.T, name string) likelihood.Settings {
	t.Helper()
	s, err := likelihood.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCombineNoise: the noise variance of each target of an ensemble is the mean over the members.
func TestCombineNoise(t *testing.T) {
	set := heavy(200, 1)
	y := make([]float64, 0, 2*set.N())
	for _, v := range set.Y.Float64s() {
		y = append(y, v, 100*v)
	}
	set = &data.Set{Features: set.Features, Targets: []string{"y", "z"}, X: set.X, Y: denseOf(y, set.N(), 2)}
	var members []*Model
	want := make([]float64, 2)
	for k := range uint64(2) {
		o := quickTrain()
		o.member, o.Training.Iterations = k, 10+300*int(k)
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, m)
		for target, std := range m.NoiseStds() {
			want[target] += std * std / 2
		}
	}
	all, err := Combine(members...)
	if err != nil {
		t.Fatal(err)
	}
	for target, std := range all.NoiseStds() {
		if v := std * std; math.Abs(v-want[target]) > 1e-9*want[target] {
			t.Errorf("target %d: noise variance %g, want %g", target, v, want[target])
		}
	}
}

// TestSeveralAgain: one network that is trained as the history of a model tells is the model's network bit for bit, also
// where the history comes from a file, and the first of several is.
func TestSeveralAgain(t *testing.T) {
	for name, o := range map[string]TrainOptions{
		"plain":   quickTrain(),
		"classes": {Network: Network{Hidden: []int{6}, Dtype: "float32"}, Training: Training{Iterations: 200, Optimizer: "sgd", Momentum: 0.5, WeightDecay: new(0.), Validation: new(0.2)}, Classes: true, Seed: 4},
		"logs":    {Network: Network{Hidden: []int{6}, Mean: []float64{0, 100}, Std: []float64{2, 50}}, Training: Training{Iterations: 200, KeepLast: true, ClipNorm: 1}, TargetTransform: "log"},
	} {
		set := wave(200, 1)
		if o.Classes {
			set = thirds(200, 1)
		}
		m, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		again, err := loaded(t, written(t, m)).Several(t.Context(), set, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		both, err := Combine(m, again)
		if err != nil {
			t.Fatal(err)
		}
		if how, err := both.Trained(); err != nil || how.Training.Networks != 2 {
			t.Errorf("%s: an ensemble of both is trained by %+v, error %v", name, how.Training, err)
		}
		if again.fingerprint() != m.fingerprint() || !reflect.DeepEqual(again.Task.Outputs, m.Task.Outputs) {
			t.Errorf("%s: another network", name)
		}
		two, err := m.Several(t.Context(), set, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := two.Net.Params()[0].Value.Data(), m.Net.Params()[0].Value.Data(); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the first of two networks is another one", name)
		}
	}
}

// TestEnsembleAgain: an ensemble is trained again network by network, as it was trained, also with another number of networks;
// its quantile network is one network.
func TestEnsembleAgain(t *testing.T) {
	set, o := wave(200, 1), quickTrain()
	o.Training.Networks = 3
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	m = loaded(t, written(t, m))
	how, err := m.Trained()
	if err != nil || how.Training.Networks != 3 {
		t.Fatalf("%d networks, error %v", how.Training.Networks, err)
	}
	for n, want := range map[int]int{0: 3, 2: 2, 4: 4} {
		again, err := m.Several(t.Context(), set, n, nil)
		if err != nil {
			t.Fatal(err)
		}
		members := layers.Members(again.Net)
		if len(members) != want {
			t.Fatalf("%d networks, want %d", len(members), want)
		}
		for k, net := range layers.Members(m.Net)[:min(3, want)] {
			for i, p := range net.Params() {
				if !reflect.DeepEqual(p.Value.Data(), members[k].Params()[i].Value.Data()) {
					t.Fatalf("%d networks: network %d is another one", n, k+1)
				}
			}
		}
		if n == 0 && (again.fingerprint() != m.fingerprint() || !reflect.DeepEqual(again.Task.Outputs, m.Task.Outputs)) {
			t.Error("another ensemble")
		}
	}
	one, err := m.Several(t.Context(), set, 1, nil)
	if err != nil || layers.Members(one.Net) != nil || !reflect.DeepEqual(one.Net.Params()[0].Value.Data(), m.Net.Params()[0].Value.Data()) {
		t.Errorf("one network of the ensemble is another one, error %v", err)
	}
	q, err := m.Quantiles(t.Context(), set, 0.9, nil)
	if err != nil || layers.Members(q.model.Net) != nil {
		t.Errorf("the network of quantiles is an ensemble, error %v", err)
	}
}

// TestEnsembleOfOthers: models of other forms, of other trainings, and from elsewhere have no training in common.
func TestEnsembleOfOthers(t *testing.T) {
	m, set := trained(t)
	wide, short := quickTrain(), quickTrain()
	wide.Network.Hidden, short.Training.Iterations = []int{12}, 300
	for want, o := range map[string]TrainOptions{"have different forms": wide, "were trained in different ways": short} {
		other, err := Train(t.Context(), set, o)
		if err != nil {
			t.Fatal(err)
		}
		both, err := Combine(m, other)
		if err != nil {
			t.Fatal(err)
		}
		_, err = loaded(t, written(t, both)).Trained()
		oneLine(t, err, "the networks of the ensemble "+want)
	}
	elsewhere := *m
	elsewhere.History = []Event{{Action: ActionWeights}}
	both, err := Combine(m, &elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	_, err = both.Trained()
	oneLine(t, err, "the history does not tell how the network was trained")
}
