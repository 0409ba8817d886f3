package train

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-valla/valla/internal/kernel"

	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// Graph is the objective of a scalar node of an expression graph.
type Graph struct {
	program *graph.Program  // computes loss, grads and updates
	loss    *graph.Node     // a scalar
	params  []Param         // with gradients of the whole mini-batch
	grads   []*tensor.Dense // of one part of a mini-batch
	state   []Array         // what the updates overwrite
	updates []*tensor.Dense // the values that overwrite state
	feed    Feed            // sets the inputs
	id      []string        // what Identify has added
}

// Feed sets the inputs of a graph to the mini-batch of an iteration.
type Feed interface {
	// Inputs returns the leaves that change from step to step with the tensors
	// that hold their values.
	Inputs() map[*graph.Node]*tensor.Dense
	// Parts returns into how many parts of equal size a mini-batch is cut. The loss
	// and its gradient are means over the parts.
	Parts() int
	// Load overwrites the tensors with a part of mini-batch number iteration.
	Load(iteration, part int) error
}

// NewGraph compiles a scalar loss and its gradients with respect to params. All other
// parameters are constants; nodes that depend on these alone are computed once. After each
// evaluation the updates are made. The arrays that the updates overwrite are the objective's state.
// A mini-batch in several parts can have only updates that do not depend on the mini-batch.
func NewGraph(b *graph.Builder, loss *graph.Node, params []*graph.Param, feed Feed, updates ...layers.Update) (*Graph, error) {
	leaves := slices.Collect(maps.Keys(feed.Inputs()))
	if feed.Parts() > 1 && dependOn(updates, leaves) {
		return nil, fmt.Errorf("train: a mini-batch in %d parts for a network with batch statistics; expected one part", feed.Parts())
	}
	outputs, options := stepOf(b, loss, params, leaves, updates)
	program, err := graph.Compile(b, outputs, options)
	if err != nil {
		return nil, err
	}
	for leaf, v := range feed.Inputs() {
		if err := program.Bind(leaf, v); err != nil {
			return nil, err
		}
	}
	g := &Graph{program: program, loss: loss, feed: feed}
	g.addParams(params, outputs[1:])
	for i, u := range updates {
		g.state = append(g.state, Array{u.Param.Name, u.Param.Value})
		g.updates = append(g.updates, program.Value(outputs[1+len(params)+i]))
	}
	return g, nil
}

// stepOf lists what a step computes: the loss, its gradients with respect to params and the updates.
// The options name the nodes that differ from step to step.
func stepOf(b *graph.Builder, loss *graph.Node, params []*graph.Param, leaves []*graph.Node, updates []layers.Update) ([]*graph.Node, graph.Options) {
	wrt := b.Params(params)
	varying, outputs := slices.Concat(wrt, leaves), append([]*graph.Node{loss}, graph.Grad(b, loss, wrt...)...)
	for _, u := range updates {
		varying, outputs = append(varying, b.Param(u.Param)), append(outputs, u.Value)
	}
	return outputs, graph.Options{Varying: varying}
}

// copiesTrained is how many copies of each trained array exist at most: the values, the
// gradient, two moments of Adam and the best values.
const copiesTrained = 5

// StepCost predicts the cost of what [NewGraph] makes of the same arguments; its memory is that with the
// optimizer's arrays. leaves are the nodes that a feed overwrites. whole says that an update
// depends on the leaves, so that a mini-batch cannot be computed in parts.
func StepCost(b *graph.Builder, loss *graph.Node, params []*graph.Param, leaves []*graph.Node, updates ...layers.Update) (c graph.Cost, whole bool, err error) {
	outputs, options := stepOf(b, loss, params, leaves, updates)
	c, err = graph.CostOf(b, outputs, options)
	arrays := 0
	for i, n := range options.Varying {
		if i >= len(params) && i < len(params)+len(leaves) {
			arrays += n.Shape().TotalSize()
		} else {
			arrays += copiesTrained * n.Shape().TotalSize()
		}
	}
	c.Bytes += int64(b.Dtype().Size()) * int64(arrays)
	return c, dependOn(updates, leaves), err
}

// dependOn says whether an update depends on leaves.
func dependOn(updates []layers.Update, leaves []*graph.Node) bool {
	for _, u := range updates {
		if u.Value != nil && slices.ContainsFunc(graph.Ancestors(u.Value), func(n *graph.Node) bool { return slices.Contains(leaves, n) }) {
			return true
		}
	}
	return false
}

// addParams adds parameters whose gradients are the nodes grads.
func (g *Graph) addParams(params []*graph.Param, grads []*graph.Node) {
	for i, p := range params {
		own := g.program.Value(grads[i])
		g.grads = append(g.grads, own)
		if g.feed.Parts() > 1 {
			own = zerosLike(own)
		}
		g.params = append(g.params, Param{Name: p.Name, Value: p.Value, Grad: own})
	}
}

// Identify adds lines to what tells runs apart, see [Identifier].
func (g *Graph) Identify(lines ...string) { g.id = append(g.id, lines...) }

// Identity implements Identifier.
func (g *Graph) Identity() []string {
	if f, ok := g.feed.(Identifier); ok {
		return append(f.Identity(), g.id...)
	}
	return g.id
}

// Params implements Objective.
func (g *Graph) Params() []Param { return g.params }

// State implements Stateful: it holds what the updates overwrite.
func (g *Graph) State() ObjectiveState { return ObjectiveState{Arrays: g.state} }

// Evaluate implements Objective.
func (g *Graph) Evaluate(ctx context.Context, iteration int) (float64, error) {
	parts, loss := g.feed.Parts(), 0.0
	for part := range parts {
		if err := ctx.Err(); err != nil && part > 0 {
			return 0, err // the step is not made
		}
		if err := g.feed.Load(iteration, part); err != nil {
			return 0, err
		}
		if err := g.program.Run(); err != nil {
			return 0, err
		}
		loss += g.program.Scalar(g.loss) / float64(parts)
		if parts > 1 {
			g.accumulate(part, parts)
		}
	}
	for i, v := range g.updates {
		copyInto(g.state[i].Value, v)
	}
	return loss, nil
}

// accumulate takes the gradients of a part into the means over all parts.
func (g *Graph) accumulate(part, parts int) {
	for i, from := range g.grads {
		if from.Dtype() == tensor.Float32 {
			addShare(floats[float32](g.params[i].Grad), floats[float32](from), part, parts)
		} else {
			addShare(floats[float64](g.params[i].Grad), floats[float64](from), part, parts)
		}
	}
}

func addShare[T kernel.Float](sum, v []T, part, parts int) {
	if part == 0 {
		clear(sum)
	}
	for i := range sum {
		sum[i] += v[i] / T(parts)
	}
}

// Program returns the compiled program, for its memory and number of steps.
func (g *Graph) Program() *graph.Program { return g.program }
