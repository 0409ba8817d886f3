package likelihood

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gonum.org/v1/gonum/optimize"
	"gorgonia.org/tensor"
)

// Prior is implemented by a Scalar whose parameters few rows do not determine.
type Prior interface {
	// LogPrior returns the logarithm of the prior density of the parameters, up to a constant, of shape [1].
	LogPrior(b *graph.Builder) *graph.Node
}

// Fit returns the likelihood with the parameters of maximum likelihood for targets y [N·W·C] at known outputs
// f [N·C], in float64. A model that is a [Prior] has the parameters of the largest posterior density, which few
// rows shrink towards Gaussian noise. The variance of Gaussian noise is the mean squared residual. A
// likelihood without parameters comes back as a copy. It is an error if there are no rows, if a number is not
// finite, or if no parameters have a finite density.
func Fit(l Likelihood, y, f []float64) (Likelihood, error) {
	if len(f) == 0 || len(y) != l.Width()*len(f) {
		return nil, fmt.Errorf("%s: %d outputs and %d targets, expected %d targets", l, len(f), len(y), l.Width()*len(f))
	}
	if err := checkFinite(slices.Concat(y, f)); err != nil {
		return nil, fmt.Errorf("%s: targets and outputs: %w", l, err)
	}
	if IsGaussian(l) {
		return NewGaussian(max(meanSquare(y, f), math.SmallestNonzeroFloat32), tensor.Float64), nil
	}
	l = l.Copy(tensor.Float64)
	s, ok := Of(l)
	if !ok || len(l.Params()) == 0 {
		return l, nil
	}
	if n, ok := s.(ScalarNoise); ok {
		s = n.WithNoise(startVariance(y, f, s))
	}
	return Each(s), newFit(s, y, f).run()
}

func meanSquare(y, f []float64) float64 {
	r := make([]float64, len(f))
	kernel.Sub(r, y, f)
	return kernel.Dot(r, r) / float64(len(r))
}

// startVariance is the square of 1.5 times the median absolute residual of the first numbers of the targets, or
// their mean square where half of the residuals are 0. Open bounds do not count.
func startVariance(y, f []float64, s Scalar) float64 {
	var r []float64
	for i, v := range f {
		if target := y[i*s.Width()]; math.Abs(target) < openFrom {
			r = append(r, math.Abs(target-v))
		}
	}
	if len(r) == 0 {
		return 1
	}
	slices.Sort(r)
	if middle := 1.5 * r[len(r)/2]; middle > 0 {
		return middle * middle
	}
	return max(kernel.Dot(r, r)/float64(len(r)), 1e-12)
}

// fitRows is the number of targets that a fit computes at a time.
const fitRows = 8192

// fit is the sum over targets of log p(y | f), and of the log prior, with its gradient.
type fit struct {
	params  []*graph.Param   // of the model
	y, f    []float64        // targets [N·W] and outputs [N]
	width   int              // W
	program *graph.Program   // of value and gradient
	in      [3]*tensor.Dense // targets [B,W], outputs [B,1] and weights [B] of a batch
	value   *graph.Node      // the weighted sum of log p over a batch
	prior   *graph.Node      // the log prior; nil where there is none
	grads   []*graph.Node    // of value by the parameters, then of prior
	err     error            // of building and of running the program
}

// newFit writes the program for batches.
func newFit(s Scalar, y, f []float64) *fit {
	n := min(len(f), fitRows)
	t := &fit{params: s.Params(), y: y, f: f, width: s.Width()}
	b := graph.NewBuilder(tensor.Float64)
	shapes := [3][]int{{n, t.width}, {n, 1}, {n}}
	var leaves [3]*graph.Node
	for i, shape := range shapes {
		leaves[i] = b.Input([]string{"targets", "outputs", "weights"}[i], shape...)
		t.in[i] = tensor.New(tensor.WithShape(shape...), tensor.Of(tensor.Float64))
	}
	theta := b.Params(t.params)
	t.value = b.Sum(b.Mul(Each(s).LogDensityNode(b, leaves[0], leaves[1]), leaves[2]))
	t.grads = graph.Grad(b, t.value, theta...)
	outputs := append([]*graph.Node{t.value}, t.grads...)
	if p, ok := s.(Prior); ok {
		t.prior = b.Sum(p.LogPrior(b))
		more := graph.Grad(b, t.prior, theta...)
		t.grads, outputs = append(t.grads, more...), append(append(outputs, t.prior), more...)
	}
	if t.program, t.err = graph.Compile(b, outputs, graph.Options{}); t.err == nil {
		for i, leaf := range leaves {
			if err := t.program.Bind(leaf, t.in[i]); err != nil {
				t.err = err
			}
		}
	}
	return t
}

// at returns the negative objective for each target at the parameters x, and adds its gradient to grad unless that is nil.
func (t *fit) at(x, grad []float64) float64 {
	graph.Unflat(t.params, x)
	clear(grad)
	sum, n := 0.0, t.in[2].Shape()[0]
	for from := 0; from < len(t.f) && t.err == nil; from += n {
		t.load(from, min(from+n, len(t.f)))
		t.err = t.program.Run()
		sum += t.program.Scalar(t.value)
		t.add(grad, t.grads[:len(t.params)])
	}
	if t.prior != nil && t.err == nil {
		sum += t.program.Scalar(t.prior)
		t.add(grad, t.grads[len(t.params):])
	}
	rows := float64(len(t.f))
	kernel.Scale(grad, -1/rows, grad)
	if !kernel.Finite(sum) {
		return math.Inf(1)
	}
	return -sum / rows
}

// load fills the batch with targets from…to−1, and with the first of them, of weight 0, where there are fewer.
func (t *fit) load(from, to int) {
	y, f, w := t.in[0].Float64s(), t.in[1].Float64s(), t.in[2].Float64s()
	for i := range f {
		k := from + i
		w[i] = 1
		if k >= to {
			k, w[i] = from, 0
		}
		f[i] = t.f[k]
		copy(y[i*t.width:], t.y[k*t.width:(k+1)*t.width])
	}
}

// add adds the values of nodes, one after the other, to grad.
func (t *fit) add(grad []float64, nodes []*graph.Node) {
	at := 0
	for _, n := range nodes {
		for _, v := range graph.Floats(t.program.Value(n)) {
			if grad != nil {
				grad[at] += v
			}
			at++
		}
	}
}

// run sets the parameters to the best parameters that BFGS finds.
func (t *fit) run() error {
	start, first := graph.Flat(t.params), math.Inf(1)
	if t.err == nil {
		first = t.at(start, nil)
	}
	if t.err != nil || math.IsInf(first, 0) {
		return errorOf(t.err, "the start of the parameters has no finite density")
	}
	best, err := optimize.Minimize(optimize.Problem{
		Func:   func(x []float64) float64 { return t.at(x, nil) },
		Grad:   func(grad, x []float64) { t.at(x, grad) },
		Status: func() (optimize.Status, error) { return optimize.NotTerminated, t.err },
	}, start, &optimize.Settings{GradientThreshold: 1e-8, MajorIterations: 1000}, &optimize.BFGS{})
	if best == nil || t.err != nil || !(best.F <= first) {
		return errorOf(t.err, "no better parameters than those of the start: %v", err)
	}
	t.at(best.X, nil)
	return t.err
}

// errorOf returns err, or the error of the text if err is nil.
func errorOf(err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return fmt.Errorf(format, args...)
}
