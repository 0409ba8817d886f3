package graph

import (
	"slices"
	"unsafe"

	"gorgonia.org/tensor"
)

// Draft is a program that has no memory yet: its steps are known, and the places of their arrays.
type Draft struct {
	p *Program
	c planner
}

// planner is a compiler for one element type.
type planner interface {
	bytes() int
	cost() Cost
	machine() (machine, []*tensor.Dense, error)
}

// NewDraft plans a program that computes outputs. Where possible it uses fewer and smaller
// steps than the nodes were written in: sums may be added up in another order, and a number or
// a small array may multiply a sum instead of its terms. It returns b's error, if there is
// one, and an error if an operation cannot be run.
func NewDraft(b *Builder, outputs []*Node, o Options) (*Draft, error) {
	if probe := *b; !probe.usable("compile: outputs", outputs...) {
		return nil, probe.err
	}
	p := &Program{leaves: make(map[*Node]bool), nodes: slices.Clone(outputs), options: o}
	order := Ancestors(outputs...)
	for _, n := range order {
		p.leaves[n] = isLeaf(n)
	}
	d := &Draft{p: p}
	var err error
	if p.exprs, err = rewritten(order, outputs, o, true); err == nil {
		if b.dt == tensor.Float64 {
			d.c, err = newCompiler[float64](p.exprs, o, nil)
		} else {
			d.c, err = newCompiler[float32](p.exprs, o, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Bytes returns the memory that the program will hold, as [Program.Bytes] does.
func (d *Draft) Bytes() int64 { return int64(d.c.bytes()) }

// Cost returns what the program will take.
func (d *Draft) Cost() Cost { return d.c.cost() }

// Compile returns the program. It is called once.
func (d *Draft) Compile() (*Program, error) { return d.p.with(d.c.machine()) }

// Compile returns the program of [NewDraft].
func Compile(b *Builder, outputs []*Node, o Options) (*Program, error) {
	d, err := NewDraft(b, outputs, o)
	if err != nil {
		return nil, err
	}
	return d.Compile()
}

// CostOf returns the cost of the program of [NewDraft].
func CostOf(b *Builder, outputs []*Node, o Options) (Cost, error) {
	d, err := NewDraft(b, outputs, o)
	if err != nil {
		return Cost{}, err
	}
	return d.Cost(), nil
}

// cost returns what the machine will take.
func (c *compiler[T]) cost() Cost {
	return Cost{int64(c.bytes()), workOf(c.code.once).Work, workOf(c.code.each).Work, unsafe.Sizeof(T(0)) == 4}
}
