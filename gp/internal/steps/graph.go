package steps

import (
	"context"
	"fmt"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/train"
)

// Graph is a fit whose objective is a node of a graph.
type Graph struct {
	Fit                      // what the fit shares with other fits in steps
	What      string         // names a step in errors, as "fmgp: a step with 5 inducing points"
	Rows      train.Source   // inputs of the training rows; nil stands for those of the problem
	BatchSize int            // rows of a mini-batch, at most all
	Trained   []*graph.Param // the arrays that the optimizer changes
	Beside    int64          // bytes that the fit holds beside the program and the trained arrays

	// Write writes a step for inputs x [B,…] and targets y [B,W·C] into a graph.
	Write func(b *graph.Builder, x, y *graph.Node) Step
}

// Step is what a step computes.
type Step struct {
	Loss    *graph.Node     // a scalar, the mean over the mini-batch
	Updates []layers.Update // what else a step changes
	Leaves  []*graph.Node   // leaves beside x and y that differ from step to step

	// Feed adds to the mini-batches what overwrites Leaves; nil where there are none.
	Feed func(batches train.Feed) train.Feed
	// Wrap makes the objective of the compiled step; nil leaves the step as it is.
	Wrap func(g *train.Graph) train.Objective
}

// Steps makes the steps and returns what end makes of them, see [Fit.Train].
func (f *Graph) Steps(ctx context.Context, end func(ctx context.Context, record gp.Record) (*gp.Fitted, error)) (*gp.Fitted, error) {
	g, s, err := f.objective()
	if err != nil {
		return nil, err
	}
	if s.Wrap != nil {
		return f.Train(ctx, s.Wrap(g), end)
	}
	return f.Train(ctx, g, end)
}

// Objective compiles a step. A mini-batch that needs more memory than the run allows is computed
// in parts.
func (f *Graph) Objective() (*train.Graph, error) {
	g, _, err := f.objective()
	return g, err
}

func (f *Graph) objective() (*train.Graph, Step, error) {
	size, _, err := f.part()
	if err != nil {
		return nil, Step{}, err
	}
	b := graph.NewBuilder(f.Problem.Dtype())
	batches, err := train.NewBatchesOf(b, f.rows(), f.Problem.Train.Y, f.BatchSize, f.BatchSize/size, f.Run.Seed)
	if err != nil {
		return nil, Step{}, fmt.Errorf("%s: %w", f.What, err)
	}
	s := f.Write(b, batches.X(), batches.Y())
	if err := b.Err(); err != nil {
		return nil, Step{}, fmt.Errorf("%s: %w", f.What, err)
	}
	feed := train.Feed(batches)
	if s.Feed != nil {
		feed = s.Feed(batches)
	}
	g, err := train.NewGraph(b, s.Loss, f.Trained, feed, s.Updates...)
	if err != nil {
		return nil, Step{}, err
	}
	g.Identify(f.Lines()...)
	return g, s, nil
}

// rows returns the inputs of the training rows.
func (f *Graph) rows() train.Source {
	if f.Rows != nil {
		return f.Rows
	}
	return train.Rows{All: f.Problem.Train.X}
}

// part returns how many rows a part of a mini-batch has, and what it takes.
func (f *Graph) part() (int, graph.Cost, error) {
	var c graph.Cost
	size, _, err := graph.Tile(f.What, f.BatchSize, f.Run.Limit(), func(size int) (int64, error) {
		var err error
		c, err = f.Cost(size)
		return c.Bytes, err
	})
	return size, c, err
}

// Cost returns what a step on size rows takes, with what the fit holds beside it.
func (f *Graph) Cost(size int) (graph.Cost, error) {
	b := graph.NewBuilder(f.Problem.Dtype())
	x := b.Input("x", append([]int{size}, f.rows().Shape()[1:]...)...)
	y := b.Input("y", size, f.Problem.Train.Y.Shape()[1])
	s := f.Write(b, x, y)
	if err := b.Err(); err != nil {
		return graph.Cost{}, fmt.Errorf("%s: %w", f.What, err)
	}
	c, whole, err := train.StepCost(b, s.Loss, f.Trained, append(s.Leaves, x, y), s.Updates...)
	if err == nil && whole && size < f.BatchSize {
		all, failed := f.Cost(f.BatchSize)
		if failed != nil {
			return c, failed
		}
		err = &graph.MemoryError{What: f.What + ", which needs the whole mini-batch,", Need: all.Bytes, Limit: f.Run.Limit()}
	}
	c.Bytes += f.Beside
	return c, err
}

// adamElements is how many elements a step of Adam computes for each number that it moves.
const adamElements = 12

// Plan counts the memory and the work of all steps. What the fit holds beside a step counts as held already.
func (f *Graph) Plan(plan *gp.Plan) error {
	size, c, err := f.part()
	if err != nil {
		return err
	}
	plan.Hold(c.Bytes - f.Beside)
	n := float64(f.Loop.Iterations)
	plan.Run(c, n*float64(f.BatchSize/size))
	for _, p := range f.Trained {
		plan.Elements(n * adamElements * float64(p.Value.Shape().TotalSize()))
	}
	return nil
}
