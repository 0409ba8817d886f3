package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/tablefile"
	"github.com/go-valla/valla/train/metric"
)

// answer holds the predictions for a request, from which outputs are made.
type answer struct {
	ctx        context.Context  // context of the request
	v          *version         // version that answers
	n          int              // number of rows
	x          []float64        // inputs [n,D]
	g          gp.Gaussian      // latent distributions, with variances alone if the classes are many
	memory     *share           // of the request
	p          valla.Prediction // predictions
	parameters map[string]any   // parameters of the present output, or of the request
}

// output is a tensor that a client may ask for.
type output struct {
	name    string // name in the protocol
	usual   bool   // whether a client that asks for nothing gets the output
	strings bool   // whether the datatype is BYTES and not FP64
	// parameters are the names of the parameters of this output.
	parameters []string
	// shape returns the shape of one row for c outputs of the network, with −1 for a length that
	// parameters choose. nil means one number for each target.
	shape  func(c int) []int
	length func(a *answer) (int, error)        // returns the length that parameters choose
	make   func(a *answer) (any, []int, error) // returns the values and the shape of one row
}

// row returns the shape of one row for the metadata.
func (o output) row(v *version) []int {
	switch {
	case o.shape != nil:
		return o.shape(v.outputs)
	case v.classes() != nil || v.outputs == 1:
		return nil
	}
	return []int{v.outputs}
}

// square returns the shape of a matrix.
func square(c int) []int { return []int{c, c} }

// each returns the shape of one number for each output of the network.
func each(c int) []int { return []int{c} }

// listed returns the shape of several numbers for each target.
func listed(c int) []int { return append(single(c), -1) }

// drawn returns the shape of samples of the targets.
func drawn(c int) []int { return append([]int{-1}, single(c)...) }

// single returns the shape of one number for each of c targets.
func single(c int) []int {
	if c == 1 {
		return nil
	}
	return []int{c}
}

// regressionOut are the outputs of a regression, in the units of the targets.
var regressionOut = []output{
	{name: "mean", usual: true, make: numbersOf(func(p *valla.Prediction) []float64 { return p.Mean })},
	{name: "std", usual: true, make: numbersOf((*valla.Prediction).Std)},
	{name: "latent_std", usual: true, make: numbersOf((*valla.Prediction).LatentStd)},
	{name: "epistemic_std", make: numbersOf((*valla.Prediction).EpistemicStd)},
	{name: "aleatoric_std", make: numbersOf((*valla.Prediction).AleatoricStd)},
	{name: "quantiles", parameters: []string{"levels"}, shape: listed, length: countOf((*answer).levels), make: quantiles},
	{name: "above", parameters: []string{"thresholds"}, shape: listed, length: countOf((*answer).thresholds), make: above},
	{name: "covariance", shape: square, make: covariance},
	{name: "samples", parameters: []string{"samples", "seed"}, shape: drawn, length: (*answer).samples, make: sampleTargets},
}

// classificationOut are the outputs of a classification.
var classificationOut = []output{
	{name: "probabilities", usual: true, shape: each, make: classProbabilities},
	{name: "class", usual: true, strings: true, make: bestClass},
	{name: "entropy", usual: true, make: entropy},
	{name: "logits", shape: each, make: logits},
	{name: "covariance", shape: square, make: covariance},
	{name: "samples", parameters: []string{"samples", "seed"}, shape: drawn, length: (*answer).samples, make: sampleClasses},
}

// setName is the name of the output with the classes of a set.
const setName = "set"

// conformalOut are the further outputs of a classification with a conformal calibration.
var conformalOut = []output{{name: setName, parameters: []string{"level"}, strings: true, make: classSet}}

// abstainOut are the further outputs of a model with a rule for the rows that need a look.
var abstainOut = []output{{name: "unfamiliar", shape: rowOnly, make: unfamiliar}, {name: "abstain", usual: true, shape: rowOnly, make: abstain}}

// rowOnly returns the shape of one number for each row.
func rowOnly(int) []int { return nil }

// offered returns the outputs of the model.
func (v *version) offered() []output {
	all, c := regressionOut, v.model.Calibration
	if v.classes() != nil {
		all = classificationOut
		if c != nil && c.Conformal != nil {
			all = slices.Concat(all, conformalOut)
		}
	}
	if c != nil && c.Abstain != nil {
		all = slices.Concat(all, abstainOut)
	}
	return all
}

// classes returns the classification, and nil for a regression.
func (v *version) classes() *task.Classification {
	c, _ := v.model.Task.Outputs.(*task.Classification)
	return c
}

// named returns the output with the given name.
func (v *version) named(name string) (output, error) {
	var names []string
	for _, o := range v.offered() {
		if o.name == name {
			return o, nil
		}
		names = append(names, o.name)
	}
	return output{}, fmt.Errorf("output %q, expected one of %s%s", short(name), tablefile.Listed(names), settings.Nearest(name, names))
}

// numbersOf returns a function that makes an output of f: one number for each row and target.
func numbersOf(f func(*valla.Prediction) []float64) func(a *answer) (any, []int, error) {
	return func(a *answer) (any, []int, error) { return f(&a.p), single(a.v.outputs), nil }
}

// logits makes the mean logits.
func logits(a *answer) (any, []int, error) { return a.g.Mean, []int{a.v.outputs}, nil }

// classProbabilities makes the class probabilities.
func classProbabilities(a *answer) (any, []int, error) { return a.p.Probs, []int{a.v.outputs}, nil }

// bestClass makes the name of the most probable class of each row.
func bestClass(a *answer) (any, []int, error) {
	names, out := a.v.classNames(), make([]string, 0, a.n)
	for _, k := range a.p.Best() {
		out = append(out, names[k])
	}
	return out, nil, nil
}

// classSet makes the set of classes of each row. A set contains the class of its row with the
// probability in the parameter "level".
func classSet(a *answer) (any, []int, error) {
	level, err := numbersIn(a.parameters, "level", probability, usualLevel)
	if err != nil {
		return nil, nil, fmt.Errorf("set: %w", err)
	}
	sets, err := a.p.Sets(level[0])
	return a.p.SetNames(sets), nil, err
}

// unfamiliar makes the share of the training rows with a smaller epistemic variance, for each row.
func unfamiliar(a *answer) (any, []int, error) {
	if len(a.p.Unfamiliar) != a.n {
		return nil, nil, errors.New("unfamiliar: the model does not know the variances of the training rows")
	}
	return a.p.Unfamiliar, nil, nil
}

// abstain makes 1 for rows that need a look, and 0 for others.
func abstain(a *answer) (any, []int, error) {
	marks, err := a.p.Abstains()
	return dense.Ones(marks), nil, err
}

// classNames returns the names of the classes.
func (v *version) classNames() []string {
	var names []string
	for k := range v.classes().Classes {
		names = append(names, v.classes().ClassName(k))
	}
	return names
}

// entropy makes the entropy of the class probabilities of each row, in nats.
func entropy(a *answer) (any, []int, error) {
	out := make([]float64, 0, a.n)
	for row := range slices.Chunk(a.p.Probs, a.v.outputs) {
		out = append(out, metric.Entropy(row))
	}
	return out, nil, nil
}

// countOf returns a function that counts the numbers of a parameter.
func countOf(f func(*answer) ([]float64, error)) func(*answer) (int, error) {
	return func(a *answer) (int, error) {
		list, err := f(a)
		return len(list), err
	}
}

// levels returns the probabilities of the quantiles in the parameter "levels".
func (a *answer) levels() ([]float64, error) {
	list, err := numbersIn(a.parameters, "levels", probability, 0.05, 0.5, 0.95)
	if err != nil {
		return nil, fmt.Errorf("quantiles: %w", err)
	}
	return list, nil
}

// thresholds returns the numbers in the parameter "thresholds".
func (a *answer) thresholds() ([]float64, error) {
	list, err := numbersIn(a.parameters, "thresholds", finite)
	if err == nil && list == nil {
		err = errors.New("expected the parameter thresholds, the numbers that targets exceed")
	}
	if err != nil {
		return nil, fmt.Errorf("above: %w", err)
	}
	return list, nil
}

// samples returns the number of samples of a row.
func (a *answer) samples() (int, error) { return whole(a.parameters, "samples", 100, mostSamples) }

// quantiles makes the quantiles of the targets at the levels in the parameter "levels".
func quantiles(a *answer) (any, []int, error) {
	levels, err := a.levels()
	if err != nil {
		return nil, nil, err
	}
	return a.each(levels, a.p.Bound)
}

// above makes the probabilities that targets are larger than the numbers in the parameter "thresholds".
func above(a *answer) (any, []int, error) {
	thresholds, err := a.thresholds()
	if err != nil {
		return nil, nil, err
	}
	return a.each(thresholds, func(c float64) ([]float64, error) { return a.p.Above(c), nil })
}

// each makes an output with a number f(v) for each row, target and number v.
func (a *answer) each(numbers []float64, f func(v float64) ([]float64, error)) (any, []int, error) {
	out := make([]float64, len(a.p.Mean)*len(numbers))
	for k, v := range numbers {
		if err := a.ctx.Err(); err != nil { // numbers of some laws take milliseconds a row
			return nil, nil, err
		}
		column, err := f(v)
		if err != nil {
			return nil, nil, err
		}
		for i, w := range column {
			out[i*len(numbers)+k] = w
		}
	}
	return out, append(single(a.v.outputs), len(numbers)), nil
}

// units returns the mean of each target, or of each transformed target, for which the network's output is 0, and the unit
// of the output. Without a regression the means are 0 and the units 1.
func (v *version) units() (mean, unit []float64) {
	mean, unit = make([]float64, v.outputs), slices.Repeat([]float64{1}, v.outputs)
	if r, ok := v.model.Task.Outputs.(*task.Regression); ok {
		copy(mean, r.Mean)
		copy(unit, r.NoiseStds(1))
	}
	return mean, unit
}

// covariance makes the covariance of the latent function, in the units of the targets, or of the
// transformed targets, or of the logits.
func covariance(a *answer) (any, []int, error) {
	if err := a.join(); err != nil {
		return nil, nil, err
	}
	c, out := a.v.outputs, slices.Clone(a.g.Cov)
	_, s := a.v.units()
	for i := range out {
		out[i] *= s[i/c%c] * s[i%c]
		if row := i / (c * c) * c; len(a.g.Unit) > 0 {
			out[i] *= a.g.Unit[row+i/c%c] * a.g.Unit[row+i%c]
		}
	}
	return out, []int{c, c}, nil
}

// join gives the latent distributions their covariances.
func (a *answer) join() error {
	if a.g.Marginal == 0 {
		return nil
	}
	c := float64(a.v.outputs)
	if err := a.memory.take(float64(a.n) * c * c * latentBytes); err != nil {
		return err
	}
	var g gp.Gaussian
	err := a.v.predict.Latent(a.ctx, a.x, &g)
	a.g = g
	return err
}

// whole returns the parameter with the given name, a whole number from 0 to most; def if it is absent.
func whole(parameters map[string]any, name string, def, most int) (int, error) {
	switch v := parameters[name].(type) {
	case nil:
		return def, nil
	case float64:
		if v == math.Trunc(v) && v >= 0 && v <= float64(most) {
			return int(v), nil
		}
	case string:
		if n, err := strconv.Atoi(v); err == nil && n >= 0 && n <= most {
			return n, nil
		}
	}
	return 0, fmt.Errorf("parameter %s is %s, expected a whole number from 0 to %d", name, told(parameters[name]), most)
}

const (
	mostSamples = 10_000  // most samples of a row
	mostDrawn   = 4 << 20 // most sampled numbers of an answer
)

// draws returns samples of the latent function at each row, [n,S,C] in the network's units, and S. Rows
// are independent of each other. Extra is added to the variances.
func (a *answer) draws(extra float64) ([]float64, int, error) {
	count, err := a.samples()
	if err != nil {
		return nil, 0, err
	}
	seed, err := whole(a.parameters, "seed", 0, math.MaxInt32)
	if err != nil {
		return nil, 0, err
	}
	if err := a.join(); err != nil {
		return nil, 0, err
	}
	c := a.v.outputs
	if count < 1 || a.n*count*c > mostDrawn {
		return nil, 0, fmt.Errorf("%d samples of %d outputs at %d rows, expected 1 to %d numbers in all", count, c, a.n, mostDrawn)
	}
	out := make([]float64, 0, a.n*count*c)
	for i := range a.n {
		cov := slices.Clone(a.g.Cov[i*c*c : (i+1)*c*c])
		for k := range c {
			cov[k*c+k] += extra
		}
		rng := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		if out, err = gp.AppendSamples(a.ctx, out, a.g.Mean[i*c:(i+1)*c], cov, count, rng); err != nil {
			return nil, 0, fmt.Errorf("row %d (counting from 0): %w", i, err)
		}
	}
	return out, count, nil
}

// sampleTargets makes samples of the targets, with noise, in the units of the targets.
func sampleTargets(a *answer) (any, []int, error) {
	c, m := a.v.outputs, a.v.model
	if r, ok := m.Task.Outputs.(*task.Regression); m.Laws != nil || m.Task.Scale != nil || ok && (r.Model != nil || r.Transforms != nil) {
		return a.scattered()
	}
	out, count, err := a.draws(m.NoiseVariance())
	if err != nil {
		return nil, nil, err
	}
	mean, std := a.v.units()
	for i := range out {
		out[i] = out[i]*std[i%c] + mean[i%c]
	}
	return out, append([]int{count}, single(c)...), nil
}

// scatteredAtOnce is how many samples are drawn between two looks at the time limit.
const scatteredAtOnce = 1 << 12

// scattered makes samples of targets of an observation model, or with laws of residuals.
func (a *answer) scattered() (any, []int, error) {
	out, count, err := a.draws(0)
	if err != nil {
		return nil, nil, err
	}
	seed, err := whole(a.parameters, "seed", 0, math.MaxInt32)
	c, rng := a.v.outputs, rand.New(rand.NewPCG(uint64(seed), math.MaxUint64))
	for i, f := range out {
		if i%scatteredAtOnce == 0 && a.ctx.Err() != nil {
			return nil, nil, a.ctx.Err()
		}
		out[i] = a.p.Scatter(i/(count*c), i%c, f, rng)
	}
	return out, append([]int{count}, single(c)...), err
}

// sampleClasses makes samples of the class probabilities.
func sampleClasses(a *answer) (any, []int, error) {
	out, count, err := a.draws(0)
	if err != nil {
		return nil, nil, err
	}
	for row := range slices.Chunk(out, a.v.outputs) {
		kernel.Softmax(row, row)
	}
	return out, []int{count, a.v.outputs}, nil
}

// tensors returns the outputs that a request asks for.
func (a *answer) tensors(r *inferRequest) ([]outputTensor, error) {
	var out []outputTensor
	for _, asked := range a.v.wanted(r.Outputs) {
		o, err := a.v.named(asked.Name)
		if err != nil {
			return nil, err
		}
		if err := a.ctx.Err(); err != nil {
			return nil, err
		}
		a.parameters = r.parametersOf(asked)
		values, shape, err := o.make(a)
		if err != nil {
			return nil, err
		}
		out = append(out, outputTensor{Name: o.name, Shape: append([]int{a.n}, shape...), Datatype: datatypeOf(o.strings), Data: values})
	}
	return out, nil
}
