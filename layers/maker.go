package layers

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Maker makes the arrays of the layers of one network, gives them names that differ, and
// counts them. [Build] and [Check] make it.
type Maker struct {
	dt        tensor.Dtype     // element type of the arrays
	rng       *rand.Rand       // source of start values
	counting  bool             // make no arrays
	free      bool             // check neither names nor sizes
	blank     bool             // leave arrays 0, because they will be set
	shapes    map[string][]int // of the arrays so far, by their names
	numbered  map[string]int   // number of unnamed layers so far, by their prefix
	prefix    string           // of the names of arrays, see member
	trainable int              // elements of all parameters
	state     int              // elements of all other arrays
	outputs   int              // of the whole form
	err       error            // the first error of an array
}

// Start draws one start value of an array.
type Start func(rng *rand.Rand) float64

// Uniform draws from the uniform distribution on ±bound.
func Uniform(bound float64) Start {
	return func(rng *rand.Rand) float64 { return bound * (2*rng.Float64() - 1) }
}

// Normal draws from N(0, std²).
func Normal(std float64) Start {
	return func(rng *rand.Rand) float64 { return std * rng.NormFloat64() }
}

// Constant gives every element the value v.
func Constant(v float64) Start { return func(*rand.Rand) float64 { return v } }

func newMaker(dt tensor.Dtype, rng *rand.Rand) *Maker {
	return &Maker{dt: dt, rng: rng, shapes: map[string][]int{}, numbered: map[string]int{}}
}

// counter is a Maker that makes no arrays.
func counter() *Maker {
	m := newMaker(tensor.Float64, nil)
	m.counting = true
	return m
}

// free makes the arrays of a single layer, whatever their names and sizes.
func free(dt tensor.Dtype, rng *rand.Rand) *Maker {
	m := newMaker(dt, rng)
	m.free = true
	return m
}

// Name returns the name that a layer was given or, where it has none, the prefix with a
// number: conv1, conv2, ….
func (m *Maker) Name(given, prefix string) string {
	if given != "" {
		return given
	}
	m.numbered[prefix]++
	return fmt.Sprint(prefix, m.numbered[prefix])
}

// Param returns a new trainable parameter. Its elements are drawn one by one, row-major.
func (m *Maker) Param(name string, start Start, shape ...int) *graph.Param {
	return m.array(&m.trainable, name, start, shape)
}

// State returns a new array that is not trainable; see [Stateful].
func (m *Maker) State(name string, start Start, shape ...int) *graph.Param {
	return m.array(&m.state, name, start, shape)
}

var arrayName = regexp.MustCompile(`^[A-Za-z0-9_/][A-Za-z0-9_./:-]{0,199}$`)

func (m *Maker) array(count *int, name string, start Start, shape []int) *graph.Param {
	if !strings.HasPrefix(name, m.prefix) { // as it is in the description of a network that was built
		name = m.prefix + name
	}
	n, ok := elements(shape)
	switch {
	case m.err != nil || m.free:
	case !arrayName.MatchString(name):
		m.err = fmt.Errorf("the array name %q: expected letters, digits and _ . : / - only", name)
	case m.shapes[name] != nil:
		m.err = fmt.Errorf("two arrays are called %q; give the layers different names", name)
	case !ok || m.trainable+m.state > maxNumbers-n:
		m.err = fmt.Errorf("with the array %q of shape %v the network has more than %d numbers, %s in float64, which is the limit",
			name, shape, maxNumbers, graph.Bytes(8*maxNumbers))
	default:
		m.shapes[name] = shape
		*count += n
	}
	if m.err != nil || m.counting {
		return &graph.Param{Name: name}
	}
	p := &graph.Param{Name: name, Value: tensor.New(tensor.Of(m.dt), tensor.WithShape(shape...))}
	for i := 0; !m.blank && i < n; i++ {
		p.Set(i, start(m.rng))
	}
	return p
}

// elements is the number of elements of an array, if it is at least 1 and at most
// maxNumbers.
func elements(shape []int) (n int, ok bool) {
	n = 1
	for _, s := range shape {
		if s < 1 || s > maxNumbers/n {
			return 0, false
		}
		n *= s
	}
	return n, true
}

// Sequence makes layers one after the other for examples of shape in, and returns them
// with the shape of one example of the last one's output.
func (m *Maker) Sequence(layers Layers, in []int) (Sequential, []int, error) {
	net, shape := make(Sequential, 0, len(layers)), in
	for i, l := range layers {
		at := fmt.Sprintf("layer %d (%s)", i+1, KindOf(l))
		if l == nil {
			return nil, nil, fmt.Errorf("%s", at)
		}
		n, out, err := l.Make(m, shape)
		if err == nil {
			err = m.err
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", at, err)
		}
		if _, ok := elements(out); !ok {
			return nil, nil, fmt.Errorf("%s: outputs of shape %v for one example: expected 1 to %d elements", at, out, maxNumbers)
		}
		net, shape = append(net, n), out
	}
	return net, shape, nil
}
