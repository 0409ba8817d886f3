package laplace

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

func store(t testing.TB, p *posterior) *gptest.Saved {
	t.Helper()
	state, err := p.State()
	if err != nil {
		t.Fatal(err)
	}
	out, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func restore(t testing.TB, p problem, s *gptest.Saved) (*posterior, error) {
	t.Helper()
	var h header
	if err := s.Header(&h); err != nil {
		t.Fatal(err)
	}
	return restorePosterior(t.Context(), p.net, likelihoodOf(h.Likelihood), s)
}

// likelihoodOf is the likelihood of that name.
func likelihoodOf(name string) likelihood.Likelihood {
	if name == softmax.String() {
		return softmax
	}
	return gaussianNoise
}

// What is restored predicts the same numbers, to the last bit, here and at other
// hyper-parameters, has the same marginal likelihood, and the same state.
func TestRestore(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, priors := range []priorsKind{priorsShared, priorsPerParameter} {
			everySpace([]int{1, 3}, func(what string, o options, c int) {
				what = label(dt, ", ", priors, ", ", what)
				o.Priors = priors
				p := problemFor(t, o, 71, dt, 13, 4, c)
				fitted := p.fit(t, o)
				file := store(t, fitted)
				got, err := restore(t, p, file)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				checkSame(t, what, got, fitted, p.probe)
				noise := 2 * fitted.NoiseStd()
				checkSame(t, what+", elsewhere", at(t, got, 0.3, noise), at(t, fitted, 0.3, noise), p.probe)
				again := store(t, got)
				if string(again.JSON) != string(file.JSON) {
					t.Errorf("%s: the state became %s from %s", what, again.JSON, file.JSON)
				}
				for name, a := range file.Arrays {
					if !slices.Equal(a.Float64s(), again.Arrays[name].Float64s()) {
						t.Errorf("%s: array %q differs", what, name)
					}
				}
			})
		}
	}
}

func checkSame(t *testing.T, what string, got, want *posterior, x *tensor.Dense) {
	t.Helper()
	wantMean, wantCov := small.Moments(t, want, x)
	mean, cov := small.Moments(t, got, x)
	fixture.Close(t, what+": mean", mean, wantMean, 0)
	fixture.Close(t, what+": covariance", cov, wantCov, 0)
	fixture.Close(t, what+": lml", one(got.LogMarginalLikelihood()), one(want.LogMarginalLikelihood()), 0)
}

// The arrays of each structure, with the sizes that State promises: 2 inputs, 4 hidden
// units, 3 outputs, so P = 27.
func TestStateArrays(t *testing.T) {
	for _, c := range []struct {
		o    options
		want map[string]tensor.Shape
	}{
		{options{Space: spaceWeights}, map[string]tensor.Shape{"h": {27 * 28 / 2}}},
		{options{Space: spaceWeights, Weights: []string{layers.LastLayerWeights}}, map[string]tensor.Shape{"h": {15 * 16 / 2}}},
		{options{Space: spaceFunctions}, map[string]tensor.Shape{"x": {13, 2}}},
		{options{Structure: kindLowRank, Rank: 6}, map[string]tensor.Shape{"r": {6, 27}}},
		{options{Structure: kindDiagonal, Weights: []string{layers.LastLayerWeights}}, map[string]tensor.Shape{"dense2.weight.h": {4, 3}, "dense2.bias.h": {1, 3}}},
		{options{Structure: kindKFAC, Weights: []string{layers.LastLayerWeights}}, map[string]tensor.Shape{
			"dense2.weight.input.values": {4}, "dense2.weight.input.vectors": {4, 4},
			"dense2.weight.cotangent.values": {3}, "dense2.weight.cotangent.vectors": {3, 3}, // the bias's, too
		}},
	} {
		c.o.PriorStd, c.o.NoiseStd = 1, 1
		file := store(t, newProblem(t, 72, tensor.Float64, 13, 4, 3).fit(t, c.o))
		for name, a := range file.Arrays {
			if !a.Shape().Eq(c.want[name]) {
				t.Errorf("%+v: array %q of shape %v, want %v", c.o, name, a.Shape(), c.want[name])
			}
		}
		if len(file.Arrays) != len(c.want) {
			t.Errorf("%+v: %d arrays, want %d", c.o, len(file.Arrays), len(c.want))
		}
	}
}

func TestRestoreErrors(t *testing.T) {
	p := newProblem(t, 73, tensor.Float64, 13, 4, 3)
	fits := map[structureKind]*posterior{}
	for _, s := range []structureKind{kindFull, kindKFAC, kindDiagonal, kindLowRank} {
		fits[s] = p.fit(t, options{Structure: s, PriorStd: 1, NoiseStd: 1})
	}
	for _, c := range []struct {
		of    structureKind
		want  string
		spoil func(h *header, file *gptest.Saved)
	}{
		{kindFull, `parameter "nowhere"`, func(s *header, _ *gptest.Saved) { s.Weights[0] = "nowhere" }},
		{kindFull, "no uncertain weights", func(s *header, _ *gptest.Saved) { s.Weights = nil }},
		{kindFull, "0 examples", func(s *header, _ *gptest.Saved) { s.Examples = 0 }},
		{kindFull, "examples, rank", func(s *header, _ *gptest.Saved) { s.Examples = 1 << 50 }},
		{kindFull, "memory limit", func(s *header, _ *gptest.Saved) { s.Limit = 0 }},
		{kindFull, "inputs of shape [2 0]", func(s *header, _ *gptest.Saved) { s.Input = []int{2, 0} }},
		{kindFull, "inputs of shape", func(s *header, _ *gptest.Saved) { s.Input = []int{1 << 40, 1 << 40, 1 << 40} }},
		{kindFull, "inputs of shape []", func(s *header, _ *gptest.Saved) { s.Input = nil }},
		{kindFull, "laplace: ", func(s *header, _ *gptest.Saved) { s.Input = []int{3} }},
		{kindFull, "the targets need (1, 7)", func(s *header, _ *gptest.Saved) { s.Outputs = 7 }},
		{kindFull, "batches of 5000", func(s *header, _ *gptest.Saved) { s.Batch = 5000 }},
		{kindFull, "squared residuals NaN", func(s *header, _ *gptest.Saved) { s.Residuals = math.NaN() }},
		{kindFull, "log likelihood +Inf", func(s *header, _ *gptest.Saved) { s.LogLikelihood = math.Inf(1) }},
		{kindFull, "space smaller", func(s *header, _ *gptest.Saved) { s.Space = spaceSmaller }},
		{kindKFAC, "a space is chosen", func(s *header, _ *gptest.Saved) { s.Space = spaceWeights }},
		{kindFull, `unknown structure "9"`, func(s *header, _ *gptest.Saved) { s.Structure = "9" }},
		{kindFull, "prior standard deviations 1 1", func(s *header, _ *gptest.Saved) { s.PriorStds = []float64{1, 1} }},
		{kindFull, "prior standard deviations 0", func(s *header, _ *gptest.Saved) { s.PriorStds = []float64{0} }},
		{kindFull, "prior standard deviations ", func(s *header, _ *gptest.Saved) { s.PriorStds = nil }},
		{kindFull, "noise standard deviation 0", func(s *header, _ *gptest.Saved) { s.NoiseStd = 0 }},
		{kindLowRank, "rank 0", func(s *header, _ *gptest.Saved) { s.Rank = 0 }},
		{kindFull, `no array "h"`, func(_ *header, file *gptest.Saved) { delete(file.Arrays, "h") }},
		{kindFull, "element 3 is NaN", func(_ *header, file *gptest.Saved) { file.Arrays["h"].Float64s()[3] = math.NaN() }},
		{kindFull, "expected float64 of shape (378)", func(_ *header, file *gptest.Saved) { file.Arrays["h"] = dense.Of(make([]float64, 4), 4) }},
		{kindFull, "not positive definite", func(_ *header, file *gptest.Saved) { file.Arrays["h"].Float64s()[0] = -1e9 }},
		{kindDiagonal, `in "dense1.weight" has the element -1`, func(_ *header, file *gptest.Saved) { file.Arrays["dense1.weight.h"].Float64s()[2] = -1 }},
	} {
		file := store(t, fits[c.of])
		h := fits[c.of].Header()
		c.spoil(&h, file)
		q, err := restorePosterior(t.Context(), p.net, gaussianNoise, spoiled{file, h})
		wants(t, err, c.want)
		if q != nil {
			t.Errorf("%s: a posterior came with the error", c.want)
		}
	}
	failed := errors.New("no disk")
	if _, err := restorePosterior(t.Context(), p.net, gaussianNoise, noDisk{store(t, fits[kindFull]), failed}); !errors.Is(err, failed) {
		t.Errorf("error %v, want that of Saved", err)
	}
	for _, l := range []likelihood.Likelihood{nil, likelihood.Softmax{}} {
		_, err := restorePosterior(t.Context(), p.net, l, store(t, fits[kindFull]))
		wants(t, err, "likelihood gaussian")
	}
}

// spoiled has another header than its arrays, also one that JSON could not hold.
type spoiled struct {
	*gptest.Saved
	h header
}

func (s spoiled) Header(v any) error {
	*v.(*header) = s.h
	return nil
}

// noDisk cannot read its arrays.
type noDisk struct {
	*gptest.Saved
	err error
}

func (s noDisk) Array(string, tensor.Dtype, ...int) (*tensor.Dense, error) { return nil, s.err }

// TestNames: options check names of all kinds, and an empty name is the first of its kind.
func TestNames(t *testing.T) {
	if o := (options{}).filled(); o.Structure != kindFull || o.Space != spaceSmaller || o.Priors != priorsShared || o.check() != nil {
		t.Errorf("the zero value became %+v", o)
	}
	for _, o := range []options{{Structure: kindKFAC}, {Structure: kindDiagonal, Priors: priorsPerLayer}, {Structure: kindLowRank, Space: spaceFunctions}, {Space: spaceWeights, Priors: priorsPerParameter}} {
		if err := o.filled().check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []options{{Structure: "half"}, {Structure: "Full"}, {Priors: "per-layer"}, {Space: "outer"}} {
		wants(t, o.filled().check(), "laplace: unknown", "expected one of")
	}
	wants(t, (options{}).check(), `unknown structure "", expected one of`)
}

// headers are the headers of files that earlier versions wrote, with the names of their arrays,
// for the small problems of TestFileFormat.
var headers = []struct {
	o      options
	header string
	arrays []string
}{
	{
		options{},
		`{"weights":["dense1.weight","dense1.bias","dense2.weight","dense2.bias"],"structure":"full","space":"weights","likelihood":"gaussian","priors":"shared","prior_stds":[0.5],"noise_std":0.25,"examples":4,"input":[2],"outputs":2,"batch":4,"memory_limit":4294967296,"squared_residuals":33.021005494691195,"log_likelihood":0}`,
		[]string{"h"},
	},
	{
		options{Space: spaceFunctions},
		`{"weights":["dense1.weight","dense1.bias","dense2.weight","dense2.bias"],"structure":"full","space":"functions","likelihood":"gaussian","priors":"shared","prior_stds":[0.5],"noise_std":0.25,"examples":4,"input":[2],"outputs":2,"batch":4,"memory_limit":4294967296,"squared_residuals":33.021005494691195,"log_likelihood":0}`,
		[]string{"x"},
	},
	{
		options{Structure: kindLowRank, Rank: 2},
		`{"weights":["dense1.weight","dense1.bias","dense2.weight","dense2.bias"],"structure":"lowrank","space":"smaller","likelihood":"gaussian","priors":"shared","prior_stds":[0.5],"noise_std":0.25,"rank":2,"examples":4,"input":[2],"outputs":2,"batch":4,"memory_limit":4294967296,"squared_residuals":33.021005494691195,"log_likelihood":0}`,
		[]string{"r"},
	},
	{
		options{Structure: kindKFAC, Likelihood: likelihood.Softmax{}, Priors: priorsPerLayer},
		`{"weights":["dense1.weight","dense1.bias","dense2.weight","dense2.bias"],"structure":"kfac","space":"smaller","likelihood":"softmax","priors":"per layer","prior_stds":[0.5,0.5],"noise_std":0,"examples":4,"input":[2],"outputs":2,"batch":4,"memory_limit":4294967296,"squared_residuals":0,"log_likelihood":-2.186685270497071}`,
		[]string{
			"dense1.weight.cotangent.values", "dense1.weight.cotangent.vectors", "dense1.weight.input.values", "dense1.weight.input.vectors",
			"dense2.weight.cotangent.values", "dense2.weight.cotangent.vectors", "dense2.weight.input.values", "dense2.weight.input.vectors",
		},
	},
	{
		options{Structure: kindDiagonal, Weights: []string{layers.LastLayerWeights}},
		`{"weights":["dense2.weight","dense2.bias"],"structure":"diag","space":"smaller","likelihood":"gaussian","priors":"shared","prior_stds":[0.5],"noise_std":0.25,"examples":4,"input":[2],"outputs":2,"batch":4,"memory_limit":4294967296,"squared_residuals":33.021005494691195,"log_likelihood":0}`,
		[]string{"dense2.bias.h", "dense2.weight.h"},
	},
}

// Headers and names of arrays are those that earlier versions wrote, and these are read.
func TestFileFormat(t *testing.T) {
	for _, c := range headers {
		o := c.o
		o.PriorStd = 0.5
		if noisy(o.Likelihood) {
			o.NoiseStd = 0.25
		}
		p := problemFor(t, o, 98, tensor.Float64, 4, 1, 2)
		q := p.fit(t, o)
		file := store(t, q)
		var want header
		if err := (&gptest.Saved{JSON: []byte(c.header)}).Header(&want); err != nil {
			t.Fatal(err)
		}
		got := q.Header()
		fixture.Close(t, "sums", []float64{got.Residuals, got.LogLikelihood}, []float64{want.Residuals, want.LogLikelihood}, 1e-12)
		got.Residuals, got.LogLikelihood = want.Residuals, want.LogLikelihood // of other processors
		if text, err := json.Marshal(got); string(text) != c.header || err != nil {
			t.Errorf("header %s, want %s (%v)", text, c.header, err)
		}
		if !slices.Equal(file.Names(), c.arrays) {
			t.Errorf("arrays %q, want %q", file.Names(), c.arrays)
		}
		file.JSON = []byte(c.header)
		old, err := restorePosterior(t.Context(), p.net, q.evidence.likelihood, file)
		if err != nil {
			t.Fatal(err)
		}
		fixture.Close(t, "lml", one(old.LogMarginalLikelihood()), one(q.LogMarginalLikelihood()), 1e-12)
	}
}
