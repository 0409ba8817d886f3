package steps

import (
	"fmt"
	"math"

	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// DataTerm evaluates a likelihood's data term, with its slopes, at given latent means and
// variances: all that a natural-gradient step takes from the likelihood. It works on a copy
// of the likelihood, whose parameters are set anew in each run.
type DataTerm struct {
	Rows    int              // examples at a time
	outputs int              // C
	most    float64          // the largest variance that is looked at, see mostLog
	own     []*graph.Param   // the parameters of its copy of the likelihood
	program *graph.Program   // computes the nodes below
	leaves  [4]*tensor.Dense // y [rows,W·C], mean and variance [rows,C], weights [rows]
	term    *graph.Node      // ℓ, [rows]
	slope   *graph.Node      // ∂ Σ w ℓ / ∂Q_cc, [rows,C]
	params  []*graph.Node    // ∂ Σ w ℓ / ∂ the likelihood's parameters
}

// mostLog bounds the variance of the logarithm of the mean of counts. e^f overflows float32 for the values f of a larger
// variance. A count that takes away such a variance takes away a larger one as well.
const mostLog = 50.0

// NewDataTerm compiles the data term of rows examples at a time, with C outputs each.
func NewDataTerm(lik likelihood.Likelihood, alpha float64, rows, outputs int, dt tensor.Dtype) (*DataTerm, error) {
	b := graph.NewBuilder(dt)
	l, in := writeDataTerm(b, lik, alpha, rows, outputs)
	var err error
	if l.program, err = graph.Compile(b, l.nodes(), graph.Options{}); err != nil {
		return nil, err
	}
	for i, n := range in {
		l.leaves[i] = tensor.New(tensor.Of(dt), tensor.WithShape(n.Shape()...))
		if err := l.program.Bind(n, l.leaves[i]); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// DataTermCost returns the cost of what NewDataTerm compiles for the same arguments.
func DataTermCost(lik likelihood.Likelihood, alpha float64, rows, outputs int, dt tensor.Dtype) (graph.Cost, error) {
	b := graph.NewBuilder(dt)
	l, _ := writeDataTerm(b, lik, alpha, rows, outputs)
	return graph.CostOf(b, l.nodes(), graph.Options{})
}

// writeDataTerm writes the nodes of a data term, which it returns with the leaves.
func writeDataTerm(b *graph.Builder, lik likelihood.Likelihood, alpha float64, rows, outputs int) (l *DataTerm, in [4]*graph.Node) {
	lik = lik.Copy(b.Dtype())
	l = &DataTerm{Rows: rows, outputs: outputs, most: math.Inf(1), own: lik.Params()}
	if lik.Kind() == likelihood.Count {
		l.most = mostLog
	}
	for i, shape := range [][]int{{rows, lik.Width() * outputs}, {rows, outputs}, {rows, outputs}, {rows}} {
		in[i] = b.Input([]string{"y", "mean", "variance", "weights"}[i], shape...)
	}
	l.term = lik.DataTerm(b, in[0], in[1], in[2], alpha)
	wrt := append([]*graph.Node{in[2]}, b.Params(l.own)...)
	grads := graph.VJP(b, []*graph.Node{l.term}, []*graph.Node{in[3]}, wrt)
	l.slope, l.params = grads[0], grads[1:]
	return l, in
}

// nodes returns what the program computes.
func (l *DataTerm) nodes() []*graph.Node {
	return append([]*graph.Node{l.term, l.slope}, l.params...)
}

// Run evaluates ℓ for up to l.Rows examples: y [n,W·C], mean and variance [n,C], weights [n], with
// the likelihood's parameters one after the other, see [graph.Flat].
func (l *DataTerm) Run(params, y, mean, variance, weights []float64) error {
	graph.Unflat(l.own, params)
	all := math.Inf(1)
	most := [4]float64{all, all, l.most, all}
	for i, v := range [][]float64{y, mean, variance, weights} {
		if want := l.leaves[i].Shape().TotalSize(); len(v) > want {
			return fmt.Errorf("%d values for a likelihood of at most %d", len(v), want)
		}
		store(l.leaves[i], v, most[i])
	}
	return l.program.Run()
}

// store overwrites t with v, with most in the place of larger numbers, and, where v is shorter, with zeros.
func store(t *tensor.Dense, v []float64, most float64) {
	if t.Dtype() == tensor.Float64 {
		storeIn(t.Float64s(), v, most)
		return
	}
	storeIn(t.Float32s(), v, most)
}

func storeIn[T kernel.Float](to []T, v []float64, most float64) {
	for i, x := range v {
		to[i] = T(min(x, most))
	}
	clear(to[len(v):])
}

// Sum returns Σ w ℓ of the last run.
func (l *DataTerm) Sum() float64 {
	term, weights := graph.Floats(l.program.Value(l.term)), graph.Floats(l.leaves[3])
	sum := 0.0
	for i, w := range weights {
		if w != 0 {
			sum += w * term[i]
		}
	}
	return sum
}

// Terms returns ℓ [n] of the first n examples of the last run.
func (l *DataTerm) Terms(n int) []float64 { return graph.Floats(l.program.Value(l.term))[:n] }

// Lambda returns w λ [n,C], λ_c = −2 ∂ℓ/∂Q_cc, of the last run, of its first n examples.
func (l *DataTerm) Lambda(n int) []float64 {
	lambda := graph.Floats(l.program.Value(l.slope))[:n*l.outputs]
	for i := range lambda {
		lambda[i] *= -2
	}
	return lambda
}

// Gradients returns the gradient of −Σ w ℓ of the last run with respect to the likelihood's
// parameters, one after the other.
func (l *DataTerm) Gradients() []float64 {
	var all []float64
	for _, p := range l.params {
		for _, g := range graph.Floats(l.program.Value(p)) {
			all = append(all, -g)
		}
	}
	return all
}
