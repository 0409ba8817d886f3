package graph

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// code runs steps over typed buffers.
type code[T kernel.Float] struct {
	once, each []*step[T]             // steps of the first run, and of every run
	fused      []*step[T]             // the steps of every run, with chains
	bound      bool                   // all leaves are bound
	fresh      bool                   // the steps of once have been run
	memory     []T                    // all intermediate values
	first      *code[T]               // its memory holds the results of once; c itself unless c is a twin
	leaves     map[*Node][]T          // the elements of each leaf; nil before it is bound
	uses       map[*Node][]operand[T] // the operands that read a leaf
}

// step is one operation with its operands in place.
type step[T kernel.Float] struct {
	e *expr                      // the expression that it computes
	f func(y []T, x [][]T) error // the loop
	y []T                        // the result
	x [][]T                      // the operands
}

// operand is a place in a step that reads a leaf.
type operand[T kernel.Float] struct {
	s *step[T]
	i int // number of the operand
}

func (c *code[T]) bind(leaf *Node, v gorgonia.Value) error {
	data, err := slice[T](v)
	if err != nil {
		return fmt.Errorf("graph: bind %q: %w", leaf.Name(), err)
	}
	c.leaves[leaf] = data
	for _, u := range c.uses[leaf] {
		u.s.x[u.i] = data
	}
	return nil
}

func (c *code[T]) run() error {
	if err := c.prime(); err != nil {
		return err
	}
	return runSteps(c.fused)
}

// prime runs what is computed once, if that has not been done.
func (c *code[T]) prime() error {
	if c.first != c && !c.first.fresh {
		if err := c.first.prime(); err != nil {
			return err
		}
	}
	if !c.bound || !c.first.fresh {
		if err := c.checkBound(); err != nil {
			return err
		}
		c.bound = true
	}
	if c.first.fresh {
		return nil
	}
	err := runSteps(c.once)
	c.fresh = err == nil
	return err
}

func (c *code[T]) checkBound() error {
	for leaf, data := range c.leaves {
		if data == nil {
			return fmt.Errorf("graph: input %q of shape %v is not bound", leaf.Name(), leaf.Shape())
		}
	}
	return nil
}

func runSteps[T kernel.Float](steps []*step[T]) error {
	for _, s := range steps {
		if err := s.f(s.y, s.x); err != nil {
			if errors.As(err, new(outside)) {
				return err
			}
			return fmt.Errorf("graph: %s: %w", s.e.op.Key(), err)
		}
	}
	return nil
}

func (c *code[T]) refresh()                { c.first.fresh = false }
func (c *code[T]) steps() (once, each int) { return len(c.once), len(c.each) }

func (c *code[T]) bytes() int {
	var zero T
	return len(c.memory) * int(unsafe.Sizeof(zero))
}

func (c *code[T]) twinBytes(outputs []*expr, o Options) (int, error) {
	of, err := newCompiler(outputs, o, c.first)
	if err != nil {
		return 0, err
	}
	return of.bytes(), nil
}

func (c *code[T]) twin(outputs []*expr, o Options) (machine, []*tensor.Dense, error) {
	return compile(outputs, o, c.first)
}
