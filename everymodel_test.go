package valla

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/fixture"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/train"
)

// refusals are the observation models that a method of the table refuses.
var refusals = map[string][]string{
	"sngp":       {"student-t", "bernoulli", "poisson", "negative-binomial", "ordinal", "mixture", "censored", "heteroscedastic", ownNoise},
	"gapa":       {ownNoise},
	"valla+gapa": {ownNoise},
}

// ownNoise stands for networks that tell the noise of each row, and is how a refusal names it.
const ownNoise = "the scale of the noise"

// tiny are settings, as JSON, with which a fit takes some milliseconds.
var tiny = map[string]string{
	"valla":       `{"inducing": 3, "iterations": 2, "batch-size": 8}`,
	"ella":        `{"points": 6, "rank": 3, "prior-grid": [0.5, 1]}`,
	"sampled-lla": `{"samples": 3, "em-steps": 1, "em-samples": 2}`,
	"moe-lla":     `{"experts": 2, "points": 6}`,
	"fmgp":        `{"inducing": 3, "iterations": 2, "batch-size": 8}`,
	"sfr":         `{"points": 4, "prior-grid": [0.5, 1]}`,
	"gapa":        `{"neighbours": 4, "scale-steps": 2}`,
	"valla+gapa":  `{"inducing": 3, "iterations": 2, "batch-size": 8, "neighbours": 4, "scale-steps": 2}`,
	"mfvi":        `{"samples": 2, "iterations": 2, "batch-size": 8}`,
	"sngp":        `{"features": 5, "iterations": 2, "batch-size": 8}`,
}

// tinySettings are the settings of a method for the test.
func tinySettings(t *testing.T, m gp.Method) gp.Settings {
	t.Helper()
	s, given := m.New(), map[string]json.RawMessage{}
	if text := tiny[m.Name]; text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			t.Fatal(err)
		}
	}
	if err := settings.Assign(s, given); err != nil {
		t.Fatal(err)
	}
	return s
}

// ownMethods are the methods of the project.
func ownMethods() []gp.Method {
	return slices.DeleteFunc(method.All(), func(m gp.Method) bool {
		return reflect.TypeOf(m.New()).Elem().PkgPath() == reflect.TypeFor[toySettings]().PkgPath()
	})
}

// targetOf draws the target of an observation model around a number f.
func targetOf(model string, f float64, rng *rand.Rand) []float64 {
	y := f + 0.3*rng.NormFloat64()
	switch model {
	case "softmax", "ordinal":
		return []float64{math.Floor(min(max(1.5+y, 0), 2))}
	case "bernoulli":
		return []float64{math.Floor(min(max(1+y, 0), 1))}
	case "poisson", "negative-binomial":
		return []float64{math.Floor(math.Exp(1 + y))}
	case "censored":
		if y > 0.5 {
			return []float64{0.5, likelihood.Open}
		}
		return []float64{y, y}
	case "heteroscedastic":
		return []float64{y, 0.3 * f}
	}
	return []float64{y}
}

// everyModel returns n rows of a problem of an observation model.
func everyModel(model string, n int) *data.Set {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	x, y := make([]float64, n), []float64(nil)
	for i := range x {
		x[i] = 3*rng.Float64() - 1.5
		y = append(y, targetOf(model, math.Sin(2*x[i]), rng)...)
	}
	columns := []string{"y", "z"}[:len(y)/n]
	return &data.Set{Features: []string{"x"}, Targets: columns, X: denseOf(x, n, 1), Y: denseOf(y, n, len(columns))}
}

// everyTrained returns a network that is trained with an observation model.
func everyTrained(t *testing.T, model string, dtype string, set *data.Set) *Model {
	t.Helper()
	o := TrainOptions{Network: Network{Hidden: []int{3}, Dtype: dtype}, Training: Training{Iterations: 30}}
	var err error
	if o.Classes = model == "softmax"; model == ownNoise {
		o.NoiseHead = task.LogVariance
	} else if !o.Classes {
		if o.Likelihood, err = likelihood.Named(model); err != nil {
			t.Fatal(err)
		}
	}
	m, err := Train(t.Context(), set, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEveryMethodEveryModel: each method of the table serves each observation model of the table, and networks that tell their noise, in both element types,
// from the fit through a file to scores, or refuses the model by name before any work. Unless tests are long, the element
// types take turns.
func TestEveryMethodEveryModel(t *testing.T) {
	for i, model := range append(likelihood.Names(), ownNoise) {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			set, fresh := everyModel(model, 40), everyModel(model, 10)
			for j, dt := range bothTypes {
				m := everyTrained(t, model, dt.String(), set)
				for k, how := range ownMethods() {
					if (i+j+k)%2 == 0 || fixture.Long() {
						t.Run(fmt.Sprintf("%s, %v", how.Name, dt), func(t *testing.T) { serves(t, m, how, set, fresh) })
					}
				}
			}
		})
	}
}

// serves checks a method on the model m.
func serves(t *testing.T, m *Model, how gp.Method, set, fresh *data.Set) {
	worked, model, refusing := false, m.Likelihood().String(), how.Title
	if m.Task.Scale != nil {
		model, refusing = ownNoise, ""
	}
	f, err := m.Fit(t.Context(), set, FitOptions{
		Settings: tinySettings(t, how), Validation: new(0.25), Run: gp.Run{OnProgress: func(train.Progress) { worked = true }},
	})
	if slices.Contains(refusals[how.Name], model) {
		if oneLine(t, err, "fit: ", refusing, model); worked {
			t.Error("the method refuses the model after a part of the work")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	(modelled{}).throughFile(t, f, fresh)
}
