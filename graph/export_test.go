package graph

// Names for the tests of package graph_test.
var On = on

// PackLower is the transpose of Builder.Lower, which the derivative of Lower consists of.
func (b *Builder) PackLower(x *Node) *Node { return b.Apply(pick{triangle: true}, x) }

// OpOf returns the Op of a node; false for leaves and for Gorgonia's own operations.
func OpOf(n *Node) (Op, bool) { return unwrap(n.Op()) }

// Twin, TwinBytes and Prime are what batches use of a program.
func (p *Program) Twin() (*Program, error) { return p.twin() }

// TwinBytes returns the memory of a twin.
func (p *Program) TwinBytes() (int, error) { return p.twinBytes() }

// Prime computes what is computed once.
func (p *Program) Prime() error { return p.prime() }

// Places is Gorgonia's memory of the places of b's nodes by their ids.
func Places(b *Builder) map[int64]int { return b.index.places }
