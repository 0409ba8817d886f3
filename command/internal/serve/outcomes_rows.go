package serve

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/data"
)

// IsOutcomes reports whether a path is called like a file of labels that a [Server] has collected.
func IsOutcomes(path string) bool { return filepath.Ext(path) == ".jsonl" }

// OutcomeRows returns the rows of a file of labels, the oldest first, as the model in the file at modelPath takes them. The labels must be those of this
// version of the model, so that a row that was added to a model is not added to it again.
func OutcomeRows(path string, m *valla.Model, modelPath string) (*data.Set, error) {
	hash, err := hashOf(modelPath)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h, rest, err := readHead(text)
	if err != nil {
		return nil, fmt.Errorf("%s, line %w", path, err)
	}
	if h.Version != hash {
		return nil, fmt.Errorf("%s, line 1: labels of the version %q, expected %q, the version of %s", path, short(h.Version), hash, modelPath)
	}
	x, y, err := labelledRows(rest, tensor.Shape(m.Task.Inputs.Shape).TotalSize())
	if err != nil {
		return nil, fmt.Errorf("%s, line %w", path, err)
	}
	set := &data.Set{
		Features: m.Task.Inputs.Features, Targets: m.Task.Targets(),
		X: tensor.New(tensor.WithShape(append([]int{len(y)}, m.Task.Inputs.Shape...)...), tensor.WithBacking(x)),
		Y: tensor.New(tensor.WithShape(len(y), 1), tensor.WithBacking(y)),
	}
	return set, m.Task.CheckSet(set)
}

// labelledRows returns the inputs [n,d] and the labels [n] of the lines of a file, at least one.
func labelledRows(rest []byte, d int) (x, y []float64, err error) {
	for number := 2; ; number++ {
		raw, more, ok := bytes.Cut(rest, []byte("\n"))
		if !ok && len(y) == 0 {
			return nil, nil, fmt.Errorf("%d: no labels, expected one at least", number)
		} else if !ok {
			return x, y, nil
		}
		line, err := readLine(raw, number)
		if err != nil {
			return nil, nil, err
		}
		if len(line.X) != d {
			return nil, nil, fmt.Errorf("%d: %d inputs, expected %d", number, len(line.X), d)
		}
		x, y, rest = append(x, line.X...), append(y, line.Target), more
	}
}
