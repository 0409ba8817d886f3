package model

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/gp/valla"
	"github.com/go-valla/valla/jacobian"
	"github.com/go-valla/valla/layers"
)

// Posterior is a fitted method on the weights of a model: [VaLLA] or [LLA].
type Posterior interface {
	// Method is what a file calls it, as [MethodVaLLA].
	Method() string
	// String names the posterior, as in a table of scores.
	String() string
	// gp is the distribution of the latent function in standardised units.
	gp(net layers.Network) gp.Posterior
	// describe completes the header of a file, arrays are the rest of it.
	describe(*posteriorHeader)
	arrays() []array
}

// VaLLA is a posterior of package gp/valla.
type VaLLA struct{ Layer *valla.Layer }

// Method implements Posterior.
func (VaLLA) Method() string { return MethodVaLLA }

// String implements Posterior.
func (v VaLLA) String() string { return fmt.Sprintf("VaLLA %d", v.Layer.Inducing()) }

func (v VaLLA) gp(net layers.Network) gp.Posterior { return valla.NewPosterior(net, v.Layer) }

func (v VaLLA) describe(h *posteriorHeader) {
	h.Inducing = v.Layer.Inducing()
	if slices.Max(v.Layer.Class) > 0 {
		h.Class = v.Layer.Class
	}
}

func (v VaLLA) arrays() (list []array) {
	for _, p := range v.Layer.Params() {
		list = append(list, array{posteriorMember(p.Name), p.Value})
	}
	return list
}

// LLA is a posterior of package gp/laplace.
type LLA struct{ *laplace.Posterior }

// Method implements Posterior.
func (LLA) Method() string { return MethodLLA }

// String implements Posterior: LLA, the structure, and the parameters that are uncertain.
func (l LLA) String() string {
	s := l.State()
	text := fmt.Sprintf("LLA %v", s.Structure)
	if s.Structure == laplace.LowRank {
		text += fmt.Sprintf(" %d", s.Rank)
	}
	return text
}

func (l LLA) gp(layers.Network) gp.Posterior { return l.Posterior }

func (l LLA) describe(h *posteriorHeader) {
	s := l.State()
	h.LLA = &s
}

func (l LLA) arrays() (list []array) {
	for _, a := range l.Arrays() {
		list = append(list, array{posteriorMember(a.Name), a.Value})
	}
	return list
}

// Attach puts a VaLLA posterior on the model: a layer that was fitted on weights with
// the given fingerprint, and the noise variance fitted with it, in standardised units.
// It refuses, with an error that wraps [ErrFingerprint], where the model has other
// weights, and a layer whose inducing inputs the network could not take.
func (m *Model) Attach(layer *valla.Layer, fingerprint string, noise float64) error {
	if err := m.checkFingerprint(fingerprint); err != nil {
		return err
	}
	z := layer.Z.Value
	if z.Dims() != 2 || z.Shape()[1] != m.Network.Inputs || z.Dtype() != m.Dtype() {
		return fmt.Errorf("posterior: expected inducing inputs %v of shape (M, %d), found %v of shape %v",
			m.Dtype(), m.Network.Inputs, z.Dtype(), z.Shape())
	}
	if c := slices.Max(layer.Class); c >= m.Network.Outputs {
		return fmt.Errorf("posterior: an inducing point of class %d, the network has %d outputs", c, m.Network.Outputs)
	}
	if err := m.checkNoise(noise); err != nil {
		return err
	}
	own := *layer
	own.Kernel = jacobian.NTK{Net: m.Net}
	m.Posterior, m.Noise = VaLLA{&own}, noise
	return nil
}

// AttachLLA puts a posterior of the LLA family on the model, whose network it was fitted
// on; it has its noise in standardised units with it. The errors are those of Attach.
func (m *Model) AttachLLA(p *laplace.Posterior, fingerprint string) error {
	if err := m.checkFingerprint(fingerprint); err != nil {
		return err
	}
	s := p.State()
	if !slices.Equal(s.Input, []int{m.Network.Inputs}) || s.Outputs != m.Network.Outputs {
		return fmt.Errorf("posterior: expected inputs of shape [%d] and %d outputs, found %v and %d",
			m.Network.Inputs, m.Network.Outputs, s.Input, s.Outputs)
	}
	if want := m.likelihood(); s.Likelihood != want {
		return fmt.Errorf("posterior: likelihood %v, expected %v", s.Likelihood, want)
	}
	noise := p.NoiseStd() * p.NoiseStd()
	if err := m.checkNoise(noise); err != nil {
		return err
	}
	m.Posterior, m.Noise = LLA{p}, noise
	return nil
}

// likelihood is that of the target.
func (m *Model) likelihood() laplace.Likelihood {
	if m.Classes != nil {
		return laplace.Softmax
	}
	return laplace.Gaussian
}

func (m *Model) checkFingerprint(fingerprint string) error {
	if own := m.Fingerprint(); own != fingerprint {
		return fmt.Errorf("%w: expected the fingerprint %s, found weights with %s", ErrFingerprint, fingerprint, own)
	}
	return nil
}

// checkNoise checks the noise variance beside a posterior.
func (m *Model) checkNoise(noise float64) error {
	if m.Classes == nil && !positive(noise) {
		return fmt.Errorf("posterior: noise variance %g, expected a positive number", noise)
	}
	if m.Classes != nil && noise != 0 {
		return fmt.Errorf("posterior: noise variance %g of classes, expected 0", noise)
	}
	return nil
}

// gp returns the distribution of the latent function in standardised units.
func (m *Model) gp() gp.Posterior {
	if m.Posterior == nil {
		return gp.Point{Net: m.Net, Dtype: m.Dtype()}
	}
	return m.Posterior.gp(m.Net)
}

// PriorStds returns the posterior's prior standard deviations, nil without one.
func (m *Model) PriorStds() []float64 {
	switch p := m.Posterior.(type) {
	case VaLLA:
		return []float64{p.Layer.PriorStd()}
	case LLA:
		return p.PriorStds()
	}
	return nil
}

// NoiseStd returns the standard deviation of y around the latent function, in the units
// of the data; 0 with classes.
func (m *Model) NoiseStd() float64 {
	if m.Classes != nil {
		return 0
	}
	return math.Sqrt(m.Noise) * m.Targets.Std[0]
}

// array is a member of a model file.
type array struct {
	member string
	value  *tensor.Dense
}
