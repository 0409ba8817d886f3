package layers

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/graph"
)

// Build returns the network that f describes, with random weights of the element type
// dt, float32 or float64, or the error of [Check]. Where rng is nil, weights are 0: they will be set.
func Build(f Form, dt tensor.Dtype, rng *rand.Rand) (Sequential, error) {
	count, err := counted(f)
	if err != nil {
		return nil, err
	}
	if dt != tensor.Float32 && dt != tensor.Float64 {
		return nil, fmt.Errorf("layers: %s: element type %v, expected float32 or float64", KindOf(f), dt)
	}
	n := count.trainable + count.state
	if err := graph.CheckMemory(fmt.Sprintf("layers: %s: a network of %d numbers", KindOf(f), n), int64(n)*int64(dt.Size())); err != nil {
		return nil, err
	}
	m := newMaker(dt, rng)
	m.blank = rng == nil
	return m.form(f)
}

// counted returns what a form counts, without building it; beside an error nothing is counted.
func counted(f Form) (*Maker, error) {
	m := counter()
	if _, err := m.form(f); err != nil {
		return &Maker{}, err
	}
	return m, nil
}

// Check returns an error of one line if a form is impossible: if a setting is out of its range,
// layers do not fit together, array names coincide, the output is no vector, or there are more
// than [maxNumbers] elements. It makes no arrays.
func Check(f Form) error {
	_, err := counted(f)
	return err
}

// Parameters returns the number P of trainable numbers of the network that f describes,
// without building it; see [Count]. It returns the error of [Check].
func Parameters(f Form) (int, error) {
	m, err := counted(f)
	return m.trainable, err
}

// Numbers returns how many elements all arrays of the network that f describes have, without building it, and 0 for a form
// that [Check] refuses.
func Numbers(f Form) int {
	m, _ := counted(f)
	return m.trainable + m.state
}

// OutputSize returns the number of outputs C of the network that f describes, without building
// it, and 0 for a form that [Check] refuses.
func OutputSize(f Form) int {
	m, _ := counted(f)
	return m.outputs
}

// OutputShape returns the shape that one example of shape in has after the layers, or an error
// of one line if the layers are impossible. It makes no arrays.
func OutputShape(list Layers, in ...int) ([]int, error) {
	err := checkInput(in)
	var out []int
	if err == nil {
		_, out, err = counter().Sequence(list, in)
	}
	if err != nil {
		return nil, fmt.Errorf("layers: %w", err)
	}
	return out, nil
}

// form makes the layers of f.
func (m *Maker) form(f Form) (net Sequential, err error) {
	if f == nil {
		return nil, errors.New("layers: no form of a network is given")
	}
	layers, err := f.Structure()
	if err != nil {
		return nil, fmt.Errorf("layers: %s: %w", KindOf(f), err)
	}
	net, m.outputs, err = m.build(f.InputShape(), layers)
	if err != nil {
		return nil, fmt.Errorf("layers: %s: %w", KindOf(f), err)
	}
	return net, nil
}

// build makes layers for inputs of shape in, and returns the number of their outputs, which must
// be a vector.
func (m *Maker) build(in []int, layers Layers) (Sequential, int, error) {
	if err := checkInput(in); err != nil {
		return nil, 0, err
	}
	if len(layers) == 0 {
		return nil, 0, errors.New("there are no layers")
	}
	net, out, err := m.Sequence(layers, in)
	if err == nil && len(out) != 1 {
		err = fmt.Errorf("the last layer gives shape %v, expected a vector of outputs", out)
	}
	if err != nil {
		return nil, 0, err
	}
	return net, out[0], nil
}

// checkInput returns an error unless in can be the shape of an example.
func checkInput(in []int) error {
	if _, ok := elements(in); len(in) == 0 || !ok {
		return fmt.Errorf("inputs of shape %v: expected at least one axis and 1 to %d elements", in, maxNumbers)
	}
	return nil
}
