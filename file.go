package valla

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/frozen"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/internal/atomicfile"
	"github.com/go-valla/valla/layers"
)

// A model file is an uncompressed zip archive: model.json, which is a header, then the
// arrays p of the network and of the posterior, if there is one:
//
//	weights/p.npy    parameters and running statistics, as package layers names them
//	posterior/p.npy  arrays of the method's State
//	scale/p.npy      arrays of the network that tells the scale of the noise, if there is one
//
// A conformal calibration adds its scores [T,n].
const (
	fileFormat   = "valla model 2"
	headerMember = "model.json"
	scoresMember = "calibration/scores.npy"
	sumsMember   = "calibration/sums.npy"
)

// header holds all of a model file except its arrays.
type header struct {
	Format      string               `json:"format"`                   // always fileFormat
	Dtype       string               `json:"dtype"`                    // element type of the weights
	Form        json.RawMessage      `json:"form"`                     // form of the network, see layers.MarshalForm
	Fingerprint string               `json:"weights_fingerprint"`      // fingerprint of the weights
	Inputs      task.Inputs          `json:"inputs"`                   // see Model.Task
	Regression  *task.Regression     `json:"regression,omitempty"`     // outputs of a regression, or nil
	Classes     *task.Classification `json:"classification,omitempty"` // outputs of a classification, or nil
	Scale       *scaleHeader         `json:"scale,omitempty"`          // see task.Scale; nil: none
	Posterior   *posteriorHeader     `json:"posterior,omitempty"`      // nil for the network alone
	Laws        []law.Law            `json:"laws,omitempty"`           // see Model.Laws
	Calibration *Calibration         `json:"calibration,omitempty"`    // see Model.Calibration
	History     []Event              `json:"history"`                  // see Model.History
}

// posteriorHeader holds all of a posterior except its arrays.
type posteriorHeader struct {
	Method        string           `json:"method"`                  // name in the table of methods
	Fingerprint   string           `json:"weights_fingerprint"`     // fingerprint of the weights of the fit
	NoiseVariance float64          `json:"noise_variance"`          // see Posterior
	Temperature   float64          `json:"temperature,omitempty"`   // see Posterior
	Model         *likelihood.Spec `json:"likelihood,omitempty"`    // see Posterior
	FrozenParts   int              `json:"frozen_parts,omitempty"`  // parts of the network before the features that the posterior takes; 0: it takes rows
	FrozenJoined  int              `json:"frozen_joined,omitempty"` // where values are joined, see frozen.Place
	Label         string           `json:"label,omitempty"`         // name of a posterior that takes features
	State         json.RawMessage  `json:"state"`                   // the header of the method's State
}

func weightMember(name string) string    { return "weights/" + name + ".npy" }
func posteriorMember(name string) string { return "posterior/" + name + ".npy" }

// Save writes the model to the file at path, which is replaced atomically. A model that
// [Load] would refuse is an error, and nothing is written.
func (m *Model) Save(path string) (err error) {
	defer explain("writing "+path, &err)
	if err := m.checkAll(); err != nil {
		return err
	}
	h, arrays, err := m.header()
	if err != nil {
		return err
	}
	return atomicfile.Write(path, 0o644, func(to io.Writer) error {
		w := archive.NewWriter(to)
		w.JSON(headerMember, h)
		for _, a := range arrays {
			w.Array(a.Name, a.Value)
		}
		return w.Close()
	})
}

// header returns the header of the model's file, and the arrays under the names of their members.
func (m *Model) header() (header, []gp.Array, error) {
	h := header{Format: fileFormat, Dtype: m.Dtype().String(), Fingerprint: m.fingerprint(), Inputs: m.Task.Inputs, Laws: m.Laws, Calibration: m.Calibration, History: m.History}
	switch o := m.Task.Outputs.(type) {
	case *task.Regression:
		h.Regression = o
	case *task.Classification:
		h.Classes = o
	default:
		return h, nil, fmt.Errorf("outputs of type %T cannot be written", o)
	}
	var err error
	if h.Form, err = layers.MarshalForm(m.Form); err != nil {
		return h, nil, err
	}
	var arrays []gp.Array
	for _, p := range layers.Arrays(m.Net) {
		arrays = append(arrays, gp.Array{Name: weightMember(p.Name), Value: p.Value})
	}
	if h.Scale, arrays, err = m.scaleHeader(arrays); err != nil {
		return h, nil, err
	}
	if c := m.Calibration; c != nil && c.Conformal != nil {
		arrays = append(arrays, gp.Array{Name: scoresMember, Value: tensor.New(
			tensor.WithShape(len(m.Task.Targets()), c.Conformal.Rows), tensor.WithBacking(c.Conformal.Scores))})
		if c.Conformal.Shift != nil {
			arrays = append(arrays, gp.Array{Name: sumsMember, Value: tensor.New(
				tensor.WithShape(len(m.Task.Targets()), c.Conformal.Rows), tensor.WithBacking(c.Conformal.Cumulative))})
		}
	}
	if m.Posterior == nil {
		return h, arrays, nil
	}
	h.Posterior, arrays, err = m.posteriorHeader(h.Fingerprint, arrays)
	return h, arrays, err
}

// posteriorHeader returns the header of the posterior, of weights with a fingerprint, and appends its arrays.
func (m *Model) posteriorHeader(fingerprint string, arrays []gp.Array) (*posteriorHeader, []gp.Array, error) {
	state, err := m.Posterior.State()
	if err != nil {
		return nil, nil, err
	}
	for _, a := range state.Arrays {
		arrays = append(arrays, gp.Array{Name: posteriorMember(a.Name), Value: a.Value})
	}
	h := &posteriorHeader{Method: m.Posterior.Method, Fingerprint: fingerprint, NoiseVariance: m.Posterior.NoiseVariance, Temperature: m.Posterior.Temperature, Model: m.Posterior.Model}
	if _, cut := frozen.Stored(m.Posterior.Stored); cut != nil {
		h.FrozenParts, h.FrozenJoined, h.Label = cut.Place().Parts, cut.Place().Joined, m.Posterior.String()
	}
	h.State, err = json.Marshal(state.Header)
	return h, arrays, err
}

// saved is the posterior in a file, as gp.Saved.
type saved struct {
	file  *archive.Reader // has the arrays
	state json.RawMessage // header of the method's State
}

// Header implements gp.Saved.
func (s saved) Header(v any) error { return archive.Decode(headerMember, s.state, v) }

// Array implements gp.Saved.
func (s saved) Array(name string, dt tensor.Dtype, shape ...int) (*tensor.Dense, error) {
	return s.file.Array(posteriorMember(name), dt, slices.Clone(shape)...)
}
