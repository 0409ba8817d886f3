// Package offset is a method in few lines: the Laplace approximation of an offset of the network's outputs.
package offset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Method is the row of the method in the table of methods.
var Method = gp.Method{
	Name: "offset", Title: "Offset", Summary: "One covariance for all inputs.", Formula: "S = (I/σ₀² + Σ Λ)⁻¹",
	Cost: "One pass over the rows.", Use: "As an example.", Source: "This file.",
	New: func() gp.Settings { return new(Settings) }, Restore: restore,
}

func init() { method.Register(Method) }

// Settings are the settings of a fit.
type Settings struct {
	PriorStd float64 `set:"prior-std" default:"1" above:"0" help:"standard deviation of the offset before the fit"`
}

// header is what a file says of a posterior beside S.
type header struct{ Input []int } // the shape of one input

// posterior has the network's outputs as means, and the same covariance at every input.
type posterior struct {
	gp.Point
	header
	s *tensor.Dense // the covariance S of the offset [C,C]
}

func (*Settings) Label() string   { return "Offset" }
func (*posterior) String() string { return "Offset" }

// Fit sums Λ_n, the curvature of the likelihood, over the training rows n: S = (I/σ₀² + Σ_n Λ_n)⁻¹.
func (s *Settings) Fit(ctx context.Context, p gp.Problem, r gp.Run) (*gp.Fitted, error) {
	set := *s
	all, err := gp.Complete(&set)
	if err := errors.Join(err, p.Check()); err != nil {
		return nil, err
	}
	c, tell := p.Outputs(), r.Tell("rows")
	q := &posterior{gp.Point{Net: p.Net, Dtype: p.Dtype()}, header{p.Train.X.Shape()[1:]}, nil}
	engine, err := gp.NewEngine(q.Point, q.Input, gp.EngineOptions{Memory: r.Memory})
	if _, _, wrong := gp.CheckInputs(p.Net, q.Input, c); wrong != nil || err != nil {
		return nil, errors.Join(wrong, err)
	}
	prior := slices.Repeat([]float64{1 / (set.PriorStd * set.PriorStd)}, c)
	sum, lambda := mat.DenseCopyOf(mat.NewDiagDense(c, prior)), mat.NewDense(c, c, nil)
	y := slices.Collect(slices.Chunk(graph.Floats(p.Train.Y), p.Train.Y.Shape()[1]))
	err = engine.Each(ctx, p.Train.X, 10, func(first int, g gp.Gaussian) error {
		for i := range g.N() {
			likelihood.CurvatureOf(p.Likelihood, lambda.RawMatrix().Data, y[first+i], g.Mean[i*c:(i+1)*c])
			sum.Add(sum, lambda)
		}
		tell(first+g.N(), p.Train.N())
		return nil
	})
	if err := errors.Join(err, sum.Inverse(sum)); err != nil {
		return nil, err
	}
	q.s = tensor.New(tensor.WithShape(c, c), tensor.WithBacking(sum.RawMatrix().Data))
	record := gp.Record{Rows: p.Train.N(), Settings: all, PriorStds: []float64{set.PriorStd}}
	if p.Validation != nil {
		record.ValidationRows, record.Untouched = p.Validation.N(), true
	}
	return &gp.Fitted{Posterior: q, NoiseVariance: likelihood.NoiseVariance(p.Likelihood), Record: record}, nil
}

// Compile compiles the network. The covariance is there already.
func (q *posterior) Compile(r gp.Request) (gp.Compiled, error) {
	if !slices.Equal(r.Shape, q.Input) {
		return nil, fmt.Errorf("offset: inputs of shape %v, expected %v", r.Shape, q.Input)
	}
	r.Marginal = false // the covariance is added to
	c, err := q.Point.Compile(r)
	return compiled{c, q.s.Float64s()}, err
}

// compiled adds the covariance to the predictions of the network.
type compiled struct {
	gp.Compiled
	s []float64 // S
}

func (c compiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	err := c.Compiled.Predict(ctx, x, g)
	for cov := range slices.Chunk(g.Cov, len(c.s)) {
		copy(cov, c.s)
	}
	return err
}

func (q *posterior) State() (gp.State, error) {
	return gp.State{Header: q.header, Arrays: []gp.Array{{Name: "offset.s", Value: q.s}}}, nil
}

func restore(_ context.Context, net layers.Network, _ likelihood.Likelihood, saved gp.Saved) (gp.Stored, error) {
	var h header
	if err := saved.Header(&h); err != nil {
		return nil, err
	}
	dt, c, err := gp.CheckInputs(net, h.Input, 0)
	if err != nil {
		return nil, err
	}
	s, err := saved.Array("offset.s", tensor.Float64, c, c)
	if err != nil {
		return nil, err
	}
	return &posterior{gp.Point{Net: net, Dtype: dt}, h, s}, nil
}
