package model

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/data/npy"
	"github.com/go-valla/valla/gp/laplace"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/layers"
)

// A model file is an uncompressed zip archive: model.json, which is a header, then
// the parameters p of the network and of the posterior, if there is one, as NumPy
// arrays:
//
//	weights/p.npy    [in, out] and [out] of each dense layer
//	posterior/p.npy  VaLLA: Z [M,D], the packed lower triangle of L [M(M+1)/2], log σ₀ [1];
//	                 LLA: those of laplace.State, in float64
const (
	fileFormat     = "valla model 1"
	headerMember   = "model.json"
	kindRegression = "regression"
	kindClasses    = "classification"
)

// header is what a model file holds beside its arrays.
type header struct {
	Format      string             `json:"format"`
	Kind        string             `json:"kind"`
	Dtype       string             `json:"dtype"`
	Network     layers.MLP         `json:"network"`
	Fingerprint string             `json:"weights_fingerprint"`
	Features    []string           `json:"features"`
	Target      string             `json:"target"`
	Classes     []float64          `json:"classes,omitempty"`
	Inputs      *data.Standardizer `json:"inputs"`
	Targets     *data.Standardizer `json:"targets,omitempty"`
	MAPNoise    float64            `json:"map_noise_variance"`
	Posterior   *posteriorHeader   `json:"posterior,omitempty"`
	Training    []Run              `json:"training"`
}

type posteriorHeader struct {
	Method      string         `json:"method"`
	Fingerprint string         `json:"weights_fingerprint"` // of the weights it was fitted on
	Noise       float64        `json:"noise_variance"`
	Inducing    int            `json:"inducing,omitempty"` // of VaLLA
	Class       []int          `json:"class,omitempty"`    // of VaLLA's inducing points, nil: 0
	LLA         *laplace.State `json:"lla,omitempty"`
}

// Save writes the model to the file at path, which is replaced atomically. A model
// that [Load] would refuse is an error, and nothing is written.
func (m *Model) Save(path string) error {
	if err := m.checkAll(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return atomicfile.Write(path, 0o644, m.encode)
}

// checkAll checks the model with its arrays.
func (m *Model) checkAll() error {
	if err := m.check(); err != nil {
		return err
	}
	for _, a := range m.arrays() {
		if i, v := firstNonFinite(a.value); i >= 0 {
			return fmt.Errorf("%s: element %d is %g, expected finite numbers", a.member, i, v)
		}
	}
	return nil
}

// encode writes the file.
func (m *Model) encode(w io.Writer) error {
	z := zip.NewWriter(w)
	text, err := json.MarshalIndent(m.header(), "", " ")
	if err != nil {
		return err
	}
	err = store(z, headerMember, func(w io.Writer) error { _, err := w.Write(text); return err })
	if err != nil {
		return err
	}
	for _, a := range m.arrays() {
		if err := store(z, a.member, func(w io.Writer) error { return npy.Encode(w, a.value) }); err != nil {
			return err
		}
	}
	return z.Close()
}

func (m *Model) header() header {
	h := header{
		Format: fileFormat, Kind: kindRegression, Dtype: m.Dtype().String(),
		Network: m.Network, Fingerprint: m.Fingerprint(),
		Features: m.Features, Target: m.Target, Classes: m.Classes, Inputs: m.Inputs, Targets: m.Targets,
		MAPNoise: m.MAPNoise, Training: m.Training,
	}
	if m.Classes != nil {
		h.Kind = kindClasses
	}
	if m.Posterior != nil {
		h.Posterior = &posteriorHeader{Method: m.Posterior.Method(), Fingerprint: h.Fingerprint, Noise: m.Noise}
		m.Posterior.describe(h.Posterior)
	}
	return h
}

func (m *Model) arrays() []array {
	var list []array
	for _, p := range m.Net.Params() {
		list = append(list, array{weightMember(p), p.Value})
	}
	if m.Posterior != nil {
		list = append(list, m.Posterior.arrays()...)
	}
	return list
}

func weightMember(p *graph.Param) string { return "weights/" + p.Name + ".npy" }
func posteriorMember(name string) string { return "posterior/" + name + ".npy" }

func store(z *zip.Writer, name string, write func(io.Writer) error) error {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	return write(w)
}

// firstNonFinite returns the index and the value of the first element that is not
// finite, or -1.
func firstNonFinite(t *tensor.Dense) (int, float64) {
	for i, v := range graph.Floats(t) {
		if !finite(v) {
			return i, v
		}
	}
	return -1, 0
}
