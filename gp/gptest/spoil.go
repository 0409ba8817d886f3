package gptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/dense"
	"gorgonia.org/tensor"
)

// refuses checks that a spoiled state is an error, no panic, and no posterior.
func (t *trial) refuses(what string, s *Saved) error {
	p, err := t.restore(t.ctx, s)
	if err == nil || errors.Is(err, errPanic) || p != nil {
		return fmt.Errorf("a state with %s: posterior %v, error %v, expected an error alone", what, p, err)
	}
	return nil
}

// spoiledArrays: arrays that are not there, too long, of another type or not finite.
func (t *trial) spoiledArrays() error {
	for _, name := range t.saved.Names() {
		for what, spoil := range map[string]func(*tensor.Dense) *tensor.Dense{
			"without": func(*tensor.Dense) *tensor.Dense { return nil },
			"with a longer": func(a *tensor.Dense) *tensor.Dense {
				shape := a.Shape().Clone()
				shape[0]++
				return tensor.New(tensor.Of(a.Dtype()), tensor.WithShape(shape...))
			},
			"with one more axis of": func(a *tensor.Dense) *tensor.Dense {
				return tensor.New(tensor.Of(a.Dtype()), tensor.WithShape(append(a.Shape().Clone(), 1)...))
			},
			"with integers in": func(a *tensor.Dense) *tensor.Dense {
				return tensor.New(tensor.Of(tensor.Int64), tensor.WithShape(a.Shape()...))
			},
			"with NaN in": func(a *tensor.Dense) *tensor.Dense {
				v := graph.Floats(a)
				v[len(v)-1] = math.NaN()
				return graph.Convert(dense.Of(v, a.Shape()...), a.Dtype())
			},
		} {
			s := t.saved.Clone()
			s.Arrays[name] = spoil(s.Arrays[name])
			if err := t.refuses(fmt.Sprintf("%s the array %q", what, name), s); err != nil {
				return err
			}
		}
	}
	return nil
}

// spoiledHeaders: an unknown key and text that is no header are errors; values that are
// missing, of another kind or of another size are errors or are taken, without a panic.
func (t *trial) spoiledHeaders() error {
	var header map[string]any
	if err := json.Unmarshal(t.saved.JSON, &header); err != nil {
		return fmt.Errorf("the header %s is no JSON object: %w", t.saved.JSON, err)
	}
	for _, text := range []string{"", "[]", "{", `{"nobody-knows-this-key":1}`} {
		s := t.saved.Clone()
		s.JSON = []byte(text)
		if err := t.refuses("the header "+text, s); err != nil {
			return err
		}
	}
	s, err := t.withHeader(header, "nobody-knows-this-key", 1)
	if err != nil {
		return err
	}
	if err := t.refuses("an unknown key in the header", s); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(header)) {
		for _, v := range []any{nil, -1, 0, 1 << 20, 1e300, "nonsense", []int{}, []int{-1}, []float64{1e-300, 1e300}, map[string]int{}} {
			if s, err = t.withHeader(header, key, v); err != nil {
				return err
			}
			if p, err := t.restore(t.ctx, s); errors.Is(err, errPanic) || err != nil && p != nil {
				return fmt.Errorf("a header with %v for %q: posterior %v, error %w", v, key, p, err)
			}
		}
	}
	return nil
}

// withHeader is the state with one value of the header changed; nil takes it away.
func (t *trial) withHeader(header map[string]any, key string, v any) (*Saved, error) {
	changed := maps.Clone(header)
	changed[key] = v
	if v == nil {
		delete(changed, key)
	}
	s := t.saved.Clone()
	var err error
	s.JSON, err = json.Marshal(changed)
	return s, err
}

// wrong are problems like the trial's that gp.Problem.Check refuses.
func (t *trial) wrong() map[string]gp.Problem {
	out := map[string]gp.Problem{}
	change := func(what string, f func(p *gp.Problem)) {
		p := t.Problem.Problem
		held := *p.Validation
		p.Validation = &held
		f(&p)
		out[what] = p
	}
	other := graph.Convert(t.Train.X, tensor.Float32)
	change("no network", func(p *gp.Problem) { p.Net = nil })
	change("no likelihood", func(p *gp.Problem) { p.Likelihood = nil })
	change("no inputs", func(p *gp.Problem) { p.Train.X = nil })
	change("no validation targets", func(p *gp.Problem) { p.Validation.Y = nil })
	change("fewer targets than inputs", func(p *gp.Problem) { p.Train.Y = p.Validation.Y })
	change("inputs of another type", func(p *gp.Problem) { p.Train.X = other })
	change("validation inputs of another type", func(p *gp.Problem) { p.Validation.X = graph.Convert(p.Validation.X, tensor.Float32) })
	change("infinite inputs", func(p *gp.Problem) { p.Train.X = with(p.Train.X, math.Inf(1)) })
	change("targets that are no numbers", func(p *gp.Problem) { p.Validation.Y = with(p.Validation.Y, math.NaN()) })
	if no := with(t.Train.Y, 0.5); (gp.Examples{X: t.Train.X, Y: no}).Check(t.Likelihood) != nil {
		change("targets that the likelihood does not have", func(p *gp.Problem) { p.Train.Y = no })
	}
	return out
}

// with returns a copy of which the last element is v.
func with(t *tensor.Dense, v float64) *tensor.Dense {
	out := graph.Floats(t)
	out[len(out)-1] = v
	return graph.Convert(dense.Of(out, t.Shape()...), t.Dtype())
}

// widened is the problem with one more column of zeros in the targets.
func (t *trial) widened() gp.Problem {
	widen := func(y *tensor.Dense) *tensor.Dense {
		n, c := y.Shape()[0], y.Shape()[1]
		out := make([]float64, n*(c+1))
		for i, v := range graph.Floats(y) {
			out[i/c*(c+1)+i%c] = v
		}
		return graph.Convert(dense.Of(out, n, c+1), y.Dtype())
	}
	p := t.Problem.Problem
	p.Train.Y = widen(p.Train.Y)
	p.Validation = &gp.Examples{X: p.Validation.X, Y: widen(p.Validation.Y)}
	return p
}
