package graph

import (
	"slices"

	"github.com/go-valla/valla/internal/kernel"
	"gorgonia.org/tensor"
)

// fold computes what depends on no input and on no number of examples, if the results take less room than the arrays from
// which they are computed, or if an operation among them has no form in ONNX.
func (t *transcript) fold(outputs []*expr) error {
	steady := map[*expr]bool{}
	for _, e := range t.exprs[0] {
		steady[e] = !t.varies.has(e) && !slices.ContainsFunc(t.shapes[e], Extent.free) &&
			!slices.ContainsFunc(e.in, func(a *expr) bool { return !steady[a] })
	}
	edge, own := t.edge(outputs, steady)
	if len(edge) == 0 || !worthFolding(edge, own) {
		return nil
	}
	values, err := computed64(t.w.dt, edge)
	if err != nil {
		return err
	}
	for i, e := range edge {
		t.names[e] = ONNXValue{t.w.array(values[i], e.shape...), t.shapes[e]}
	}
	return nil
}

// edge returns the steady expressions that are computed and that others than steady ones take, or that are outputs. own are
// the leaves that others take.
func (t *transcript) edge(outputs []*expr, steady map[*expr]bool) (edge []*expr, own map[*expr]bool) {
	seen := map[*expr]bool{}
	own = map[*expr]bool{}
	take := func(e *expr) {
		switch {
		case !steady[e] || seen[e]:
		case e.leaf != nil:
			own[e] = true
		default:
			edge, seen[e] = append(edge, e), true
		}
	}
	for _, e := range t.exprs[0] {
		if !steady[e] {
			for _, a := range e.in {
				take(a)
			}
		}
	}
	for _, e := range outputs {
		take(e)
	}
	return edge, own
}

// worthFolding reports whether expressions have no more elements than the leaves from which they are computed and which
// nothing else takes, or cannot be written.
func worthFolding(edge []*expr, own map[*expr]bool) bool {
	spared, taken := 0, 0
	for _, e := range edge {
		taken += size(e.shape)
	}
	for _, e := range needed(edge) {
		if e.leaf != nil && !own[e] {
			spared += size(e.shape)
		} else if _, ok := e.op.(ONNXForm); e.leaf == nil && !ok {
			return true
		}
	}
	return taken <= spared
}

// computed64 returns the values of expressions that depend on constants alone.
func computed64(dt tensor.Dtype, exprs []*expr) ([][]float64, error) {
	if dt == tensor.Float64 {
		return valuesOf[float64](exprs)
	}
	return valuesOf[float32](exprs)
}

func valuesOf[T kernel.Float](exprs []*expr) ([][]float64, error) {
	m, values, err := compile[T](exprs, Options{}, nil)
	if err == nil {
		err = m.run()
	}
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(values))
	for i, v := range values {
		out[i] = Floats(v)
	}
	return out, nil
}
