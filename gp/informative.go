package gp

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
	"gorgonia.org/tensor"
)

// Informative begins the choice of weights "informative:K", see [InformativeWeights].
const Informative = "informative:"

// InformativeWeights resolves the choice of weights "informative:K": it returns the names of
// the parameters of the K layers about which the training rows say most, by the traces of their
// blocks of the Gauss-Newton matrix, and a note for people that names them. It returns other choices
// without a change and without a note.
// The errors wrap settings.ErrSetting where K is no number of layers that the network has.
func InformativeWeights(ctx context.Context, p Problem, r Run, names []string) (chosen []string, notes []string, err error) {
	k, ok, err := informativeLayers(names)
	if !ok || err != nil {
		return names, nil, err
	}
	all, err := informationByLayer(ctx, p, r)
	if err != nil {
		return nil, nil, fmt.Errorf("weights %s: %w", names[0], err)
	}
	if k > len(all) {
		return nil, nil, settings.Errorf("weights %s: the network has %d layers with weights", names[0], len(all))
	}
	total := 0.0
	for _, l := range all {
		total += l.Trace
	}
	slices.SortStableFunc(all, func(a, b layerInformation) int { return cmp.Compare(b.Trace, a.Trace) })
	var said []string
	for _, l := range all[:k] {
		own := layers.Names(l.Params)
		said = append(said, fmt.Sprintf("%s (%.2g %%)", strings.Join(own, ", "), 100*l.Trace/total))
		chosen = append(chosen, own...)
	}
	return chosen, []string{fmt.Sprintf("The uncertain weights, with their shares of the trace of the Gauss-Newton matrix, are %s.", strings.Join(said, "; "))}, nil
}

// informativeLayers returns the K of "informative:K", and whether names are such a choice.
func informativeLayers(names []string) (k int, ok bool, err error) {
	if len(names) != 1 || !strings.HasPrefix(names[0], Informative) {
		return 0, false, nil
	}
	if k, err = strconv.Atoi(strings.TrimPrefix(names[0], Informative)); err != nil || k < 1 {
		return 0, true, settings.Errorf("weights %s, expected %sK with a number K of layers from 1", names[0], Informative)
	}
	return k, true, nil
}

// layerInformation is how much rows say about the weights of a layer.
type layerInformation struct {
	Params []*graph.Param // the parameters of the layer
	Trace  float64        // mean of tr JᵀΛJ over rows
}

const (
	informationRows   = 100 // at most
	informationProbes = 4   // of a row, at most
	informationStream = 11  // of the seed
)

// informationByLayer returns for each layer of the network, see [layers.ByLayer], the mean over
// training rows of tr JᵀΛJ, where J is the Jacobian of the outputs by the layer's weights and Λ
// the likelihood's curvature: the trace of the layer's block of the Gauss-Newton matrix, which is
// also the trace of the Fisher matrix (Martens 2020, "New insights and perspectives on the natural
// gradient method"). It takes at most a hundred rows. With Λ = RᵀR and outputs up to four it is
// exact for these; with more it takes four vectors ε of random signs for each row, of which
// E ‖JᵀRᵀε‖² is the trace (Hutchinson 1990). A pass takes as long as a few gradients for each
// row, whatever the number of outputs. The error is a *graph.MemoryError if a single row takes
// more memory than r allows.
func informationByLayer(ctx context.Context, p Problem, r Run) ([]layerInformation, error) {
	rng := rand.New(rand.NewPCG(r.Seed, informationStream))
	m, err := newInformation(p, rng, r.Memory)
	if err != nil {
		return nil, err
	}
	some := SampleRows(p.Train.X, informationRows, rng)
	n := some.Shape()[0]
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := m.add(some, i); err != nil {
			return nil, err
		}
		r.Tell("rows")(i+1, n)
	}
	for i := range m.layers {
		m.layers[i].Trace /= float64(n)
	}
	return m.layers, nil
}

// information is a program for one row and one probe.
type information struct {
	lik     likelihoodRoot     // of the targets
	rng     *rand.Rand         // of the signs of probes
	outputs int                // C
	probe   int                // number of the present one
	layers  []layerInformation // traces so far
	x       *tensor.Dense      // one row, read by the program
	program *graph.Program     // computes squares
	squares []*graph.Node      // ‖JᵀRᵀε‖² by layer
}

// likelihoodRoot is the part of a likelihood that is needed.
type likelihoodRoot interface{ Root(w, m, f []float64) }

func newInformation(p Problem, rng *rand.Rand, limit int64) (*information, error) {
	t := &information{lik: p.Likelihood, rng: rng, outputs: p.Outputs()}
	b := graph.NewBuilder(p.Dtype())
	shape := p.Train.X.Shape().Clone()
	shape[0] = 1
	x := b.Input("x", shape...)
	f := p.Net.Forward(b, x)
	v := b.Call("probe of the curvature", []int{1, t.outputs}, t.cotangent, f)
	for _, params := range layers.ByLayer(p.Net) {
		t.layers = append(t.layers, layerInformation{Params: params})
		t.squares = append(t.squares, squares(b, graph.VJP(b, []*graph.Node{f}, []*graph.Node{v}, b.Params(params))))
	}
	if b.Err() != nil {
		return nil, b.Err()
	}
	d, err := graph.NewDraft(b, t.squares, graph.Options{Varying: []*graph.Node{x}})
	if err != nil {
		return nil, err
	}
	if need := d.Bytes(); limit > 0 && need > limit {
		return nil, &graph.MemoryError{What: "the information in the layers", Need: need, Limit: limit}
	}
	if t.program, err = d.Compile(); err != nil {
		return nil, err
	}
	t.x = tensor.New(tensor.Of(p.Dtype()), tensor.WithShape(shape...))
	return t, t.program.Bind(x, t.x)
}

// squares returns the sum of the squares of all elements.
func squares(b *graph.Builder, nodes []*graph.Node) *graph.Node {
	var sum *graph.Node
	for _, n := range nodes {
		sum = b.Plus(sum, b.Sum(b.Square(n)))
	}
	return sum
}

// add adds row i of x.
func (t *information) add(x *tensor.Dense, i int) error {
	if err := (train.Rows{All: x}).Load(t.x, []int{i}, 0); err != nil {
		return err
	}
	probes := min(t.outputs, informationProbes)
	for t.probe = range probes {
		if err := t.program.Run(); err != nil {
			return err
		}
		for k, n := range t.squares {
			s := t.program.Scalar(n)
			if t.outputs > probes {
				s /= float64(probes)
			}
			t.layers[k].Trace += s
		}
	}
	return nil
}

// cotangent returns a row of R, or Rᵀε, at the outputs f: Λ = Σ_c w_c (e_c − m)(e_c − m)ᵀ.
func (t *information) cotangent(in [][]float64) ([]float64, error) {
	c := t.outputs
	w, m, v := make([]float64, c), make([]float64, c), make([]float64, c)
	t.lik.Root(w, m, in[0])
	sum := 0.0
	for k := range c {
		a := math.Sqrt(w[k])
		switch {
		case c > informationProbes && t.rng.Uint64()&1 == 0:
			a = -a
		case c <= informationProbes && k != t.probe:
			a = 0
		}
		v[k] += a
		sum += a
	}
	kernel.Axpy(-sum, m, v)
	return v, nil
}
