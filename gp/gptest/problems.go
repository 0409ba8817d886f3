package gptest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Problem is a tiny problem for methods.
type Problem struct {
	Name string // network, task and element type
	gp.Problem
	Probe *tensor.Dense // inputs [5,…] to predict at
}

const (
	trainRows      = 24
	validationRows = 8
	probeRows      = 5
	noiseStd       = 0.3 // of the targets around the network's outputs
)

// Problems returns tiny problems, made anew at each call: regression with one and two
// outputs and classification with three classes, for a multilayer perceptron and a
// convolutional network, in both element types. Targets scatter around the network's
// outputs as the likelihood says.
func Problems() ([]Problem, error) {
	var all []Problem
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, net := range []string{"MLP", "CNN"} {
			for _, task := range []struct {
				name    string // in the name of the problem
				outputs int    // of the network
				model   string // name of the observation model
			}{{"1 output", 1, "gaussian"}, {"2 outputs", 2, "gaussian"}, {"3 classes", 3, "softmax"}} {
				p, err := newProblem(net, task.outputs, dt, task.model, "")
				if err != nil {
					return nil, err
				}
				p.Name = fmt.Sprint(net, ", ", task.name, ", ", dt)
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// ModelProblems returns tiny problems for the other observation models of the table, in both element
// types: a multilayer perceptron with two outputs.
func ModelProblems() ([]Problem, error) {
	var all []Problem
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		for _, model := range likelihood.Names() {
			sets := modelSettings(model)
			for _, name := range slices.Sorted(maps.Keys(sets)) {
				p, err := newProblem("MLP", 2, dt, model, sets[name])
				if err != nil {
					return nil, err
				}
				p.Name = fmt.Sprint(name, ", ", dt)
				all = append(all, p)
			}
		}
	}
	return all, nil
}

// modelSettings returns the settings, as JSON, with which a model of the table has a problem, by the name of
// the problem. The models of Problems have none.
func modelSettings(model string) map[string]string {
	switch model {
	case "gaussian", "softmax":
		return nil
	case "ordinal":
		return map[string]string{model: `{"classes": 3}`}
	case "poisson":
		return map[string]string{model: "", "poisson with exposures": `{"exposure": true}`}
	}
	return map[string]string{model: ""}
}

// newProblem draws a problem with an observation model of the table, which has the settings set, JSON or "".
func newProblem(net string, outputs int, dt tensor.Dtype, model string, set string) (Problem, error) {
	rng := rand.New(rand.NewPCG(uint64(outputs), 20))
	shape, network := []int{2}, mlp
	if net == "CNN" {
		shape, network = []int{1, 4, 4}, cnn
	}
	l, err := started(model, set, outputs, noiseStd*noiseStd)
	if err != nil {
		return Problem{}, err
	}
	p := Problem{Problem: gp.Problem{Net: network(outputs, dt, rng), Likelihood: l}}
	if p.Train, err = p.draw(trainRows, shape, dt, rng); err != nil {
		return p, err
	}
	held, err := p.draw(validationRows, shape, dt, rng)
	p.Validation = &held
	p.Probe = normal(probeRows, shape, dt, rng)
	p.Likelihood = l.Copy(dt)
	return p, err
}

// started returns the likelihood of a model of the table with the settings set, JSON or "", for a squared noise scale.
func started(model string, set string, outputs int, noise float64) (likelihood.Likelihood, error) {
	m, err := likelihood.Lookup(model)
	if err != nil {
		return nil, err
	}
	s, given := m.New(), map[string]json.RawMessage{}
	if set != "" {
		err = json.Unmarshal([]byte(set), &given)
	}
	if err := cmp.Or(err, settings.Assign(s, given)); err != nil {
		return nil, fmt.Errorf("gptest: the model %s: %w", model, err)
	}
	l, err := s.Start(outputs, nil)
	if err != nil {
		return nil, fmt.Errorf("gptest: the model %s: %w", model, err)
	}
	return likelihood.WithNoise(l, noise), nil
}

// mlp has two inputs and four hidden units.
func mlp(outputs int, dt tensor.Dtype, rng *rand.Rand) layers.Network {
	return layers.Sequential{
		layers.NewDense("dense1", 2, 4, dt, rng), layers.Activation("tanh"), layers.NewDense("dense2", 4, outputs, dt, rng),
	}
}

// cnn takes images [1,4,4].
func cnn(outputs int, dt tensor.Dtype, rng *rand.Rand) layers.Network {
	norm := layers.NewBatchNorm("norm", 2, dt)
	_, beta := norm.Scale()
	beta.Set(0, 0.2)
	layers.State(norm)[0].Set(0, 0.1) // the running mean
	layers.State(norm)[1].Set(1, 0.5) // the running variance
	return layers.Sequential{
		layers.NewConv2D("conv", 1, 2, 3, 2, 1, dt, rng), norm, layers.Activation("tanh"),
		layers.Flatten{}, layers.NewDense("last", 2*2*2, outputs, dt, rng),
	}
}

// draw draws n examples of inputs of a shape.
func (p Problem) draw(n int, shape []int, dt tensor.Dtype, rng *rand.Rand) (gp.Examples, error) {
	x := normal(n, shape, dt, rng)
	y, err := run(x, p.Net.Forward)
	if err != nil {
		return gp.Examples{}, fmt.Errorf("gptest: a problem: %w", err)
	}
	var targets []float64
	for f := range slices.Chunk(y, len(y)/n) {
		targets = append(targets, scatter(p.Likelihood, f, rng)...)
	}
	return gp.Examples{X: x, Y: graph.Convert(dense.Of(targets, n, len(targets)/n), dt)}, nil
}

// scatter draws a target for the latent values f. A class is drawn with probabilities softmax(f): it has the
// largest f_c plus Gumbel noise.
func scatter(l likelihood.Likelihood, f []float64, rng *rand.Rand) (y []float64) {
	if likelihood.IsClass(l) {
		for c := range f {
			f[c] -= math.Log(rng.ExpFloat64())
		}
		y = make([]float64, len(f))
		y[slices.Index(f, slices.Max(f))] = 1
		return y
	}
	for c, v := range f {
		y = append(y, target(l, c, v, rng)...)
	}
	return y
}

// target draws the W numbers of the target of output c for the latent value f. A number is the ends of an
// interval, which are equal in half of the targets; a count has an exposure beside it, and a number of known
// scale the logarithm of the scale.
func target(l likelihood.Likelihood, c int, f float64, rng *rand.Rand) []float64 {
	draw := func(f float64) float64 { return l.Predict(c, f, 0).Draw(rng) }
	switch {
	case l.Width() == 1:
		return []float64{draw(f)}
	case l.Kind() == likelihood.Count:
		exposure := 0.5 + rng.Float64()
		return []float64{draw(f + math.Log(exposure)), exposure}
	case l.String() == "heteroscedastic":
		h := rng.Float64() - 0.5
		return []float64{f + math.Exp(h)*(draw(f)-f), h}
	}
	v := draw(f)
	return []float64{v, v + max(0, rng.Float64()-0.5)}
}

// normal draws n inputs of a shape each.
func normal(n int, shape []int, dt tensor.Dtype, rng *rand.Rand) *tensor.Dense {
	v := make([]float64, n*tensor.Shape(shape).TotalSize())
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return graph.Convert(dense.Of(v, append([]int{n}, shape...)...), dt)
}
