package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// Load reads the model in the file at path. Everything is checked: the version of
// the format, that every array is there, in its shape and finite, and nothing else,
// and that the posterior belongs to the weights. Errors name the file and the part
// of it, and wrap [ErrFormat] or [ErrFingerprint].
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
	if err != nil {
		return nil, describe(path, err)
	}
	return m, nil
}

// describe names the file in an error, which an error of reading it already does.
func describe(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// decode reads a model from the size bytes of r.
func decode(r io.ReaderAt, size int64) (*Model, error) {
	a, err := openArchive(r, size)
	if err != nil {
		return nil, err
	}
	h, err := a.header()
	if err != nil {
		return nil, err
	}
	m, err := h.model(size)
	if err != nil {
		return nil, formatError(headerMember, err)
	}
	if err := a.weights(m, h); err != nil {
		return nil, err
	}
	if err := a.posterior(m, h); err != nil {
		return nil, err
	}
	if own := m.Fingerprint(); own != h.Fingerprint {
		return nil, formatError("weights", fmt.Errorf("expected the fingerprint %s, found %s", h.Fingerprint, own))
	}
	if err := a.expectEmpty(); err != nil {
		return nil, err
	}
	return m, nil
}

func formatError(member string, err error) error {
	return fmt.Errorf("%s: %w: %w", member, ErrFormat, err)
}

var dtypes = map[string]tensor.Dtype{"float32": tensor.Float32, "float64": tensor.Float64}

// model makes a model of everything in h, with weights that are still to be read
// from a file of size bytes.
func (h *header) model(size int64) (*Model, error) {
	dt, ok := dtypes[h.Dtype]
	switch {
	case h.Kind != kindRegression && h.Kind != kindClasses:
		return nil, fmt.Errorf("kind %q, expected %q or %q", h.Kind, kindRegression, kindClasses)
	case (h.Kind == kindClasses) != (h.Classes != nil):
		return nil, fmt.Errorf("kind %q with %d classes", h.Kind, len(h.Classes))
	case !ok:
		return nil, fmt.Errorf("dtype %q, expected \"float32\" or \"float64\"", h.Dtype)
	}
	m := &Model{
		Network: h.Network, Features: h.Features, Target: h.Target, Classes: h.Classes, Inputs: h.Inputs, Targets: h.Targets,
		MAPNoise: h.MAPNoise, Noise: h.MAPNoise, Training: h.Training,
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	if !fits(h.Network, size/int64(dt.Size())) {
		return nil, fmt.Errorf("a network with %d inputs, hidden layers %d and %d outputs does not fit in a file of %d bytes",
			h.Network.Inputs, h.Network.Hidden, h.Network.Outputs, size)
	}
	var err error
	m.Net, err = h.Network.New(dt, rand.New(rand.NewPCG(0, 0)))
	return m, err
}

// fits says whether a network has at most budget parameters, so that no file can
// ask for more memory than its own size.
func fits(n layers.MLP, budget int64) bool {
	in := int64(n.Inputs)
	for _, w := range append(append([]int(nil), n.Hidden...), n.Outputs) {
		out := int64(w)
		if in < 1 || out < 1 || in >= budget || out > budget/(in+1) {
			return false
		}
		budget -= out * (in + 1)
		in = out
	}
	return true
}

// weights reads the arrays of the network into m.
func (a *archive) weights(m *Model, h *header) error {
	for _, p := range m.Net.Params() {
		v, err := a.array(weightMember(p), m.Dtype(), p.Value.Shape()...)
		if err != nil {
			return err
		}
		p.Value = v
	}
	return nil
}

// posterior reads the posterior, if there is one, and puts it on the weights.
func (a *archive) posterior(m *Model, h *header) error {
	if h.Posterior == nil {
		return nil
	}
	if err := m.checkFingerprint(h.Posterior.Fingerprint); err != nil {
		return err
	}
	var err error
	switch p := h.Posterior; p.Method {
	case MethodVaLLA:
		err = a.valla(m, p)
	case MethodLLA:
		err = a.lla(m, p)
	default:
		err = formatError(headerMember, fmt.Errorf("posterior %q, expected %q or %q", p.Method, MethodVaLLA, MethodLLA))
	}
	return err
}

// valla reads a layer.
func (a *archive) valla(m *Model, h *posteriorHeader) error {
	if h.LLA != nil {
		return formatError(headerMember, fmt.Errorf("a posterior %q with the state of another method", h.Method))
	}
	// The triangle of L must fit in the file before room is made for it.
	budget := a.size / int64(m.Dtype().Size())
	if n := int64(h.Inducing); n < 1 || n > 2*budget/n {
		return formatError(headerMember, fmt.Errorf("%d inducing points do not fit in a file of %d bytes", n, a.size))
	}
	z, err := a.array(posteriorMember(nameZ), m.Dtype(), h.Inducing, m.Network.Inputs)
	if err != nil {
		return err
	}
	layer, err := valla.New(jacobian.NTK{Net: m.Net}, z, h.Class)
	if err != nil {
		return formatError(headerMember, err)
	}
	for _, p := range layer.Params()[1:] {
		if p.Value, err = a.array(posteriorMember(p.Name), m.Dtype(), p.Value.Shape()...); err != nil {
			return err
		}
	}
	if err := m.Attach(layer, h.Fingerprint, h.Noise); err != nil {
		return formatError(headerMember, err)
	}
	return nil
}

// lla reads a posterior of the LLA family and computes its factors.
func (a *archive) lla(m *Model, h *posteriorHeader) error {
	s := h.LLA
	if s == nil || h.Inducing != 0 || h.Class != nil {
		return formatError(headerMember, fmt.Errorf("a posterior %q without its state, or with that of another method", h.Method))
	}
	if !slices.Equal(s.Input, []int{m.Network.Inputs}) || s.Outputs != m.Network.Outputs {
		return formatError(headerMember, fmt.Errorf("a posterior for inputs of shape %v and %d outputs, expected [%d] and %d",
			s.Input, s.Outputs, m.Network.Inputs, m.Network.Outputs))
	}
	p, err := laplace.Restore(context.Background(), m.Net, *s, func(name string, shape ...int) (*tensor.Dense, error) {
		return a.array(posteriorMember(name), tensor.Float64, shape...)
	})
	if errors.Is(err, ErrFormat) {
		return err
	}
	if err == nil {
		err = m.AttachLLA(p, h.Fingerprint)
	}
	if err == nil && m.Noise != h.Noise {
		err = fmt.Errorf("noise variance %g, expected %g, that of the posterior", h.Noise, m.Noise)
	}
	if err != nil {
		return formatError("posterior", err)
	}
	return nil
}

// nameZ is the parameter that gives the number of inducing points.
const nameZ = "valla.z"
