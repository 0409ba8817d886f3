package valla

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/corrected"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/gp/frozen"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/method"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/layers"
)

// Load reads the model in the file at path. Load checks the whole file: the format, that each array is there
// with its shape and with finite numbers, that there is nothing else, and that the posterior was fitted to these
// weights. An error names the file and its part. The error wraps [ErrFormat], unless the posterior belongs to
// other weights. The size of the file bounds the memory.
func Load(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	m, err := decode(f, info.Size())
	if errors.As(err, new(*fs.PathError)) {
		return nil, err // the error names the file
	}
	if err != nil && network(path) {
		return nil, fmt.Errorf("%s: %w: a network or its weights, expected a model file: fit it first", path, ErrFormat)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// network says whether a file is called like a network or its weights, from which [FromWeights] makes a model.
func network(path string) bool {
	return slices.Contains([]string{".onnx", ".npz", ".npy", ".pt", ".pth", ".safetensors"}, strings.ToLower(filepath.Ext(path)))
}

// decode reads a model from the size bytes of r.
func decode(r io.ReaderAt, size int64) (*Model, error) {
	a, err := archive.Open(r, size)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(a)
	if err != nil {
		return nil, err
	}
	m, err := h.model(size)
	if err != nil {
		return nil, archive.Errorf(headerMember, "%w", err)
	}
	for _, p := range layers.Arrays(m.Net) {
		if p.Value, err = a.Array(weightMember(p.Name), m.Dtype(), p.Value.Shape()...); err != nil {
			return nil, err
		}
	}
	if own := m.fingerprint(); own != h.Fingerprint {
		return nil, archive.Errorf("weights", "expected the fingerprint %s, found %s", h.Fingerprint, own)
	}
	if err := m.rescale(a, h.Scale, size); err != nil {
		return nil, err
	}
	if err := m.restore(a, h.Fingerprint, h.Posterior); err != nil {
		return nil, err
	}
	if err := m.takeLaws(h.Laws); err != nil {
		return nil, archive.Errorf(headerMember, "%w", err)
	}
	if err := m.recalibrate(a, h.Calibration); err != nil {
		return nil, err
	}
	if err := a.Empty(); err != nil {
		return nil, err
	}
	return m, nil
}

// takeLaws gives m the laws of a file; nil gives none.
func (m *Model) takeLaws(laws []law.Law) error {
	for _, l := range laws {
		m.Laws = append(m.Laws, l.Remembering())
	}
	if m.Laws == nil {
		return nil
	}
	return m.checkLaws()
}

// readHeader reads model.json, whose version is looked at first.
func readHeader(a *archive.Reader) (*header, error) {
	text, err := a.Text(headerMember)
	if err != nil {
		return nil, err
	}
	var version struct {
		Format string `json:"format"` // see header
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, archive.Errorf(headerMember, "%w", err)
	}
	if version.Format != fileFormat {
		return nil, archive.Errorf(headerMember, "format %q, expected %q", version.Format, fileFormat)
	}
	h := new(header)
	return h, archive.Decode(headerMember, text, h)
}

// model returns the model that h describes, with random weights. The weights must fit in a file of size bytes.
func (h *header) model(size int64) (*Model, error) {
	dt, ok := dtypes[h.Dtype]
	if !ok || h.Dtype == "" {
		return nil, fmt.Errorf("dtype %q, expected \"float32\" or \"float64\"", h.Dtype)
	}
	m := &Model{Task: task.Task{Inputs: h.Inputs}, History: h.History}
	switch {
	case (h.Regression == nil) == (h.Classes == nil):
		return nil, fmt.Errorf("expected either a regression or a classification")
	case h.Regression != nil:
		h.Regression.Inside = h.Regression.Inside || h.inside()
		m.Task.Outputs = h.Regression
	default:
		m.Task.Outputs = h.Classes
	}
	var err error
	if m.Form, err = layers.UnmarshalForm(h.Form); err != nil {
		return nil, err
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if n := layers.Numbers(m.Form); int64(n) > size/int64(dt.Size()) {
		return nil, fmt.Errorf("a network with %d numbers (%s) does not fit in a file of %d bytes", n, m.Form, size)
	}
	m.Task.Inputs.Whole = layers.WholeInputs(m.Form)
	m.Net, err = layers.Build(m.Form, dt, nil)
	return m, err
}

// inside reports whether the history tells that the observation model is of the fit, which files of earlier programs do not say:
// a training by an observation model has it among its settings, and a network from elsewhere has none of real numbers.
func (h *header) inside() bool {
	r := h.Regression
	if r.Model == nil || h.Posterior == nil || len(h.History) == 0 || h.History[0].Rows == 0 {
		return false
	}
	l, err := r.Model.Likelihood()
	_, trained := h.History[0].Settings["likelihood"]
	return err == nil && l.Kind() == likelihood.Number && !trained
}

// restore reads the posterior, if there is one, and gives it to the model, whose weights have the fingerprint own.
func (m *Model) restore(a *archive.Reader, own string, h *posteriorHeader) error {
	if h == nil {
		return nil
	}
	if err := otherWeights(own, h.Fingerprint); err != nil {
		return err
	}
	how, err := method.Lookup(h.Method)
	if err != nil {
		return archive.Errorf(headerMember, "posterior: %w", err)
	}
	l := m.Task.Likelihood()
	if h.Model != nil {
		if l, err = h.Model.Likelihood(); err != nil {
			return archive.Errorf(headerMember, "posterior: %w", err)
		}
	}
	p, err := m.restored(how, l, h, saved{a, h.State})
	if err == nil {
		err = m.take(&Posterior{p, h.Method, h.NoiseVariance, h.Temperature, h.Model})
	}
	if err != nil && !errors.Is(err, ErrFormat) {
		err = archive.Errorf("posterior", "%w", err)
	}
	return err
}

// restored restores a posterior, which takes features if parts of the network are frozen.
func (m *Model) restored(how gp.Method, l likelihood.Likelihood, h *posteriorHeader, s gp.Saved) (gp.Stored, error) {
	how = corrected.Restoring(how)
	if h.FrozenParts == 0 {
		return ensemble.Restore(context.Background(), how, m.network(), l, s)
	}
	cut, err := frozen.After(m.network(), frozen.Place{Parts: h.FrozenParts, Joined: h.FrozenJoined}, m.Task.Inputs.Shape, m.Dtype())
	if err != nil {
		return nil, err
	}
	p, err := how.Restore(context.Background(), cut.Rest, l, s)
	if err != nil {
		return nil, err
	}
	return cut.Fitted(p, cmp.Or(h.Label, p.String())), nil
}

// recalibrate reads the calibration, if there is one.
func (m *Model) recalibrate(a *archive.Reader, c *Calibration) error {
	if c == nil {
		return nil
	}
	if c.Conformal != nil {
		scores, err := a.Array(scoresMember, tensor.Float64, len(m.Task.Targets()), c.Conformal.Rows)
		if err != nil {
			return err
		}
		c.Conformal.Scores = scores.Float64s()
		if c.Conformal.Shift != nil {
			sums, err := a.Array(sumsMember, tensor.Float64, len(m.Task.Targets()), c.Conformal.Rows)
			if err != nil {
				return err
			}
			c.Conformal.Cumulative = sums.Float64s()
		}
	}
	m.Calibration = c
	if err := m.checkCalibration(); err != nil {
		return archive.Errorf("calibration", "%w", err)
	}
	return nil
}
