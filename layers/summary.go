package layers

import "fmt"

// Row describes one layer of a network.
type Row struct {
	Layer      string   // its kind
	Name       string   // what the network's file calls it, if anything
	Output     []int    // shape of its output for one example
	Parameters int      // trainable numbers
	Arrays     []string // their names
}

// Summary describes the layers of a form, without making arrays. A layer that consists of several
// operations may have a method Rows(in []int) ([]Row, error), which describes each operation for
// examples of shape in. Summary returns the error of [Check].
func Summary(f Form) ([]Row, error) {
	if err := Check(f); err != nil {
		return nil, err
	}
	list, err := f.Structure()
	if err != nil {
		return nil, err
	}
	var rows []Row
	m, shape := counter(), f.InputShape()
	for i, l := range list {
		before := m.trainable
		net, out, err := l.Make(m, shape)
		if err != nil {
			return nil, fmt.Errorf("layers: layer %d (%s): %w", i+1, KindOf(l), err)
		}
		if s, ok := l.(interface{ Rows(in []int) ([]Row, error) }); ok {
			own, err := s.Rows(shape)
			if err != nil {
				return nil, fmt.Errorf("layers: layer %d (%s): %w", i+1, KindOf(l), err)
			}
			rows = append(rows, own...)
		} else {
			rows = append(rows, Row{Layer: KindOf(l), Output: out, Parameters: m.trainable - before, Arrays: Names(net.Params())})
		}
		shape = out
	}
	return rows, nil
}
