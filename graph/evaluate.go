package graph

// Evaluate compiles nodes that depend on parameters and constants alone, computes them once and
// returns copies of their values, as float64.
func Evaluate(b *Builder, nodes ...*Node) ([][]float64, error) {
	p, err := Compile(b, nodes, Options{})
	if err == nil {
		err = p.Run()
	}
	if err != nil {
		return nil, err
	}
	values := make([][]float64, len(nodes))
	for i, n := range nodes {
		values[i] = Floats(p.Value(n))
	}
	return values, nil
}
