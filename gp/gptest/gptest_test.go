package gptest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

const outputs = 2

// line is the posterior of a linear network whose weights have variance ½ each, half
// of the prior's: f(x) = xW + b with covariance ½ (x·x' + 1) for each output, by plain
// loops. A flaw breaks it in one way.
type line struct {
	layers.Dense
	flaw  string
	calls float64 // grows with every compilation
}

func newLine(flaw string) *line {
	return &line{flaw: flaw, Dense: layers.Dense{
		W: graph.NewParam("w", []float64{1, -2, 0.5, 3}, tensor.Float64, 2, outputs),
		B: graph.NewParam("b", []float64{0.1, -0.2}, tensor.Float64, outputs),
	}}
}

func (l *line) is(flaw string) float64 {
	if l.flaw == flaw {
		return 1
	}
	return 0
}

// half is ½ (x_i·x_j + 1).
func half(x []float64, i, j int) float64 {
	return 0.5 * (x[2*i]*x[2*j] + x[2*i+1]*x[2*j+1] + 1)
}

func (l *line) mean(x []float64, i, c int) float64 {
	w, b := l.W.Value.Float64s(), l.B.Value.Float64s()
	return x[2*i]*w[c] + x[2*i+1]*w[outputs+c] + b[c] + 1e-9*l.is("mean off")
}

func (l *line) check(x *tensor.Dense) error {
	switch s := x.Shape(); {
	case s[0] == 0:
		return fmt.Errorf("0 inputs")
	case l.flaw == "silent errors" && s[1] != 2:
		return fmt.Errorf("wrong inputs")
	case l.flaw == "misreads float32" && x.Dtype() == tensor.Float32:
	case l.flaw == "misreads int64" && x.Dtype() == tensor.Int64:
	case x.Dtype() != tensor.Float64 || s[1] != 2 && l.flaw != "any width":
		return fmt.Errorf("inputs are %v of width %d, expected float64 of width 2", x.Dtype(), s[1])
	}
	return nil
}

// probs sets the probabilities to the logistic function of the difference of the outputs.
func (l *line) probs(to, mean []float64) {
	for i := 0; i < len(mean); i += outputs {
		to[i] = 1/(1+math.Exp(mean[i+1]-mean[i])) + l.calls*l.is("probabilities drift")
		to[i+1] = 1 - to[i] + 1e-9*l.is("probabilities add up to more")
	}
}

// OwnMean implements gp.OwnMean.
func (l *line) OwnMean() string {
	if l.is("own mean without one") == 1 {
		return "The mean is its own."
	}
	return ""
}

func (l *line) Joint(ctx context.Context, in *tensor.Dense) (*tensor.Dense, *tensor.Dense, error) {
	if err := l.check(in); err != nil {
		return nil, nil, err
	}
	if l.flaw != "deaf jointly" && ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	x, n := in.Float64s(), in.Shape()[0]
	size := n * outputs
	mean, cov := make([]float64, 0, size), make([]float64, size*size)
	for i := range size {
		mean = append(mean, l.mean(x, i/outputs, i%outputs)+l.is("other joint mean"))
		for j := range size {
			if i%outputs == j%outputs || l.flaw == "joint not a covariance" && i/outputs != j/outputs {
				cov[i*size+j] = half(x, i/outputs, j/outputs) * (1 - 0.5*l.is("other joint"))
			}
		}
	}
	if l.flaw == "joint not a covariance" {
		for i := range size {
			cov[i*size+(i+outputs)%size] *= 9
			cov[((i+outputs)%size)*size+i] = cov[i*size+(i+outputs)%size]
		}
	}
	return tensor.New(tensor.WithShape(size), tensor.WithBacking(mean)), tensor.New(tensor.WithShape(size, size), tensor.WithBacking(cov)), nil
}

// reduced has the variances of a line alone.
type reduced struct {
	gp.Compiled
	flaw string // see line
}

func (r reduced) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	err := r.Compiled.Predict(ctx, x, g)
	if g.Reduce(); r.flaw == "other variances alone" {
		g.Cov[0] *= 2
	}
	return err
}

func (l *line) testCase() Case {
	return Case{
		Posterior: l, Net: l.Dense, Prior: jacobian.NTK{Net: l.Dense}, PriorVariance: 1,
		X: tensor.New(tensor.WithShape(4, 2), tensor.WithBacking([]float64{1, 2, -1, 0.5, 0.3, 0.7, 2, -1})),
	}
}

func TestGoodPosterior(t *testing.T) {
	Check(t, newLine("").testCase())
	c := newLine("").testCase()
	Check(t, Case{Posterior: c.Posterior, X: c.X}) // the least that a case needs
}

// TestFlaws: each flaw is found, by the promise that it breaks.
func TestFlaws(t *testing.T) {
	for flaw, want := range map[string]string{
		"mean off": "mean is the network's output", "asymmetric": "covariance", "negative": "covariance",
		"joint not a covariance": "covariance", "wide": "at most the prior", "other joint": "marginals of the joint",
		"other joint mean": "marginals of the joint", "neighbours": "in batches", "last of a batch": "in batches",
		"drifts": "repeatable", "any width": "wrong inputs",
		"silent errors": "wrong inputs", "misreads int64": "wrong inputs", "deaf jointly": "ended context",
		"own mean without one": "mean is the network's output", "probabilities add up to more": "probabilities",
		"probabilities drift":   "repeatable",
		"other variances alone": "variances alone",
		"compiled garbage":      "compiled", "compiled for many": "compiled", "compiles without memory": "compiled", "beyond the limit": "compiled",
	} {
		c := newLine(flaw).testCase()
		var broken []string
		for _, q := range properties {
			p, err := newProbe(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if err := q.check(p); err != nil {
				broken = append(broken, q.name)
			}
		}
		if !slices.Contains(broken, want) {
			t.Errorf("%s: breaks %q, want %q", flaw, broken, want)
		}
	}
}

func TestUnusableCases(t *testing.T) {
	for what, c := range map[string]Case{
		"few covariances": newLine("few").testCase(),
		"not finite":      newLine("NaN").testCase(),
		"no inputs":       {Posterior: newLine("")},
		"one input":       {Posterior: newLine(""), X: tensor.New(tensor.WithShape(1, 2), tensor.Of(tensor.Float64))},
		"wrong width":     {Posterior: newLine(""), X: tensor.New(tensor.WithShape(3, 5), tensor.Of(tensor.Float64))},
	} {
		if _, err := newProbe(t.Context(), c); err == nil {
			t.Errorf("%s: no error", what)
		} else {
			t.Log(err)
		}
	}
}
