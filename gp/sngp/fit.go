package sngp

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/fault"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

const (
	// checkpointEvery are the steps between two checkpoints.
	checkpointEvery = 250
	// headStream, powerStream and scaleStream are random streams of a seed.
	headStream  = 12
	powerStream = 13
	scaleStream = 14
)

// Fit implements gp.Settings.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	f := &fitting{p: p, r: r}
	var err error
	if f.s, err = gp.Completed(p, s.complete); err != nil {
		return nil, err
	}
	if _, err := f.plan(); err != nil {
		return nil, err
	}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	g, err := f.steps()
	if err != nil {
		return nil, err
	}
	return g.Steps(ctx, f.fitted)
}

// fitting is the state of one fit.
type fitting struct {
	p gp.Problem // network, likelihood and examples
	r gp.Run     // seed, memory, checkpoint and progress
	s Settings   // complete

	raw     *layers.Copy  // of the hidden layers: what is trained, before it is divided
	bounded []*bounded    // the layers whose weights are divided
	average *tensor.Dense // the moving average of φᵀφ, [m,m]; nil without
	post    *posterior    // of the weights as they are
	beside  int64         // bytes that the plan holds beside a step; 0 before the plan

	before []float64 // the norms of the bounded layers before the first step
	divide *divider  // divides the weights; nil where no layer is divided
}

// classes says whether the outputs are classes.
func (f *fitting) classes() bool { return likelihood.IsClass(f.p.Likelihood) }

// start makes the network, the head and the posterior as they are before the first step.
func (f *fitting) start(ctx context.Context) error {
	net, err := newNetwork(f.p.Net, f.p.Train.X.Shape()[1:])
	if err != nil {
		return err
	}
	f.raw = layers.NewCopy(net.hidden)
	f.post = &posterior{net: net, weights: layers.NewCopy(net.hidden), limit: f.r.Limit() / 4}
	f.post.cov = &covariance{Form: f.s.Covariance, Ridge: f.s.Ridge, Features: f.s.Features, Outputs: net.output}
	if err := f.startLayers(net); err != nil {
		return fmt.Errorf("sngp: power iteration: %w", err)
	}
	if err := f.refresh(); err != nil {
		return err
	}
	f.before = f.divide.norms()
	return f.startHead(ctx)
}

// startLayers finds the layers that are divided, their norms and, unless it is given, their bound.
func (f *fitting) startLayers(net *network) (err error) {
	if f.s.Spectral == spectralNone {
		return nil
	}
	rng := rand.New(rand.NewPCG(f.r.Seed, powerStream))
	if f.bounded, err = boundLayers(net, f.raw.Params(), f.s.spectral(), f.s.NormLayers == topLayers, rng); err != nil {
		return err
	}
	if len(f.bounded) == 0 {
		return nil // the last layer is the only one
	}
	if err := settle(f.bounded, net.dt, firstSteps); err != nil {
		return err
	}
	if f.s.Spectral == spectralBound && f.s.Bound == 0 {
		top, err := largestNorm(f.bounded, net.dt)
		if err != nil {
			return err
		}
		f.s.Bound = max(leastBound, top)
		for _, l := range f.bounded {
			l.bound = f.s.Bound
		}
	}
	f.divide, err = newDivider(f.bounded, net.dt)
	return err
}

// refresh gives the posterior the weights as they are now.
func (f *fitting) refresh() error {
	own := layers.Arrays(f.post.weights)
	for i, p := range layers.Arrays(f.raw) {
		tensor.Copy(own[i].Value, p.Value)
	}
	if err := f.divide.run(f.post.weights.Params()); err != nil {
		return fmt.Errorf("sngp: %w", err)
	}
	f.post.refresh()
	return nil
}

// startHead draws the random features and finds the first β.
func (f *fitting) startHead(ctx context.Context) error {
	net, m := f.post.net, f.s.Features
	rng := rand.New(rand.NewPCG(f.r.Seed, headStream))
	w := frequencies(net.units, m, f.s.Draws == drawsGaussian, rng)
	h := newHead(w, phases(m, rng), net.units, net.output, f.s.FeatureScale, net.dt)
	if f.s.LayerNorm {
		h.Normalise()
	}
	f.post.head = h
	if f.s.LengthScale == 0 {
		var err error
		if f.s.LengthScale, err = f.lengthScale(ctx); err != nil {
			return fmt.Errorf("sngp: the length scale: %w", err)
		}
	}
	for i, v := range w {
		h.W.Set(i, v/f.s.LengthScale)
	}
	if f.s.Precision != exact {
		start := 0.0
		if f.s.Precision == decaying {
			start = f.s.Ridge
		}
		f.average = newAverage(m, start)
	}
	if f.s.Head == headRandom {
		bound := 1 / math.Sqrt(float64(net.output))
		for i := range m * net.output {
			h.Beta.Set(i, bound*(2*rng.Float64()-1))
		}
		return nil
	}
	return fault.In("sngp: the start of β", f.nearest(ctx))
}

// params lists what is trained.
func (f *fitting) params() []*graph.Param {
	return slices.Concat(f.raw.Params(), f.post.head.Trained())
}

// ofTraining lists the settings that the training depends on.
func (s *Settings) ofTraining() (text string) {
	for _, f := range settings.Of(s) {
		if !slices.Contains([]string{"covariance", "probabilities", "lambda", "samples", "keep-last"}, f.Name) && f.Given() {
			text += fmt.Sprintf(" %s %s", f.Name, f.Text())
		}
	}
	return text
}

// fitted returns the result of the fit after the last step.
func (f *fitting) fitted(ctx context.Context, record gp.Record) (*gp.Fitted, error) {
	if err := f.finish(ctx); err != nil {
		return nil, err
	}
	record.Settings = settings.Map(&f.s) // with λ
	record.PriorStds, record.Facts = []float64{1}, []gp.Fact{{Name: "length scale", Value: f.s.LengthScale}}
	if f.s.Covariance != formShared {
		record.PriorStds[0] = 1 / math.Sqrt(f.s.Ridge)
	}
	out := &gp.Fitted{Posterior: f.post}
	if !f.classes() {
		out.NoiseVariance = f.s.Ridge
	}
	if f.s.Lambda != nil {
		record.Facts = append(record.Facts, gp.Fact{Name: "λ of the probabilities", Value: *f.s.Lambda})
	}
	if len(f.bounded) > 0 {
		record.Facts = append(record.Facts,
			gp.Fact{Name: "largest norm of a layer before", Value: slices.Max(f.before)},
			gp.Fact{Name: "largest norm of a layer", Value: slices.Max(f.divide.norms())})
	}
	out.Record = record
	return out, nil
}
