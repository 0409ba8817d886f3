package valla

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/archive"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// Describe returns the form of the network that [FromWeights] reads from the ONNX model at path.
func (o WeightOptions) Describe(path string) (layers.Form, error) {
	o.Network.Form, o.Network.ends = path, linkEnds(o.Classes, o.Likelihood)
	if err := o.checkNoiseHead(); err != nil {
		return nil, inFile(path, err)
	}
	return o.Network.Describe(nil, 0)
}

// checkNoiseHead returns an error if the options do not suit a noise head, and makes the first half of the outputs the
// network's if there is one.
func (o *WeightOptions) checkNoiseHead() error {
	if o.NoiseHead == "" {
		return nil
	}
	if err := o.NoiseHead.Check(); err != nil {
		return err
	}
	if !isONNX(o.Network.Form) || o.Classes || o.Likelihood != nil {
		return settings.Errorf("a noise head of a network of classes, of a likelihood or of another file, expected a regression and an ONNX model")
	}
	o.Network.half = onnx.FirstHalf
	return nil
}

// noiseScale reads the scale of the noise, the second half of the outputs. All its arrays are certain.
func (o *WeightOptions) noiseScale() (*task.Scale, error) {
	n := o.Network
	n.half, n.Frozen = onnx.SecondHalf, []string{"*"}
	f, err := n.onnx()
	if err != nil {
		return nil, err
	}
	s := &task.Scale{Of: o.NoiseHead, Form: f.Form, Dtype: dtypes[n.Dtype]}
	net, err := f.Network(s.Dtype)
	s.Own(net)
	return s, err
}

// scaleNotes says by which factor the residuals are off the standard deviations that the network tells.
func (m *Model) scaleNotes() []string {
	if m.Task.Scale == nil {
		return nil
	}
	r := m.Task.Outputs.(*task.Regression)
	factor := math.Sqrt(r.NoiseVariance)
	if r.Noise != nil {
		factor = math.Exp(meanLog(r.Noise))
	}
	return []string{fmt.Sprintf("The network tells the noise of each row: residuals are %.3g times as large as its standard deviations say. The fit keeps this factor.", factor)}
}

// meanLog returns the mean of the logarithms of v.
func meanLog(v []float64) (sum float64) {
	for _, x := range v {
		sum += math.Log(x) / float64(len(v))
	}
	return sum
}

// scaleHeader holds all of a scale of the noise except its arrays.
type scaleHeader struct {
	Of   task.ScaleOf    `json:"of"`   // see task.Scale
	Form json.RawMessage `json:"form"` // form of the network, see layers.MarshalForm
}

// scaleHeader returns the header of the scale of the noise, nil without one, and arrays with those of the scale.
func (m *Model) scaleHeader(arrays []gp.Array) (*scaleHeader, []gp.Array, error) {
	s := m.Task.Scale
	if s == nil {
		return nil, arrays, nil
	}
	form, err := layers.MarshalForm(s.Form)
	for _, p := range layers.Arrays(s.Net) {
		arrays = append(arrays, gp.Array{Name: p.Name + ".npy", Value: p.Value})
	}
	return &scaleHeader{s.Of, form}, arrays, err
}

// rescale reads the scale of the noise, if there is one, from a file of size bytes.
func (m *Model) rescale(a *archive.Reader, h *scaleHeader, size int64) error {
	if h == nil {
		return nil
	}
	s := &task.Scale{Of: h.Of, Dtype: m.Dtype()}
	var err error
	if s.Form, err = layers.UnmarshalForm(h.Form); err != nil {
		return archive.Errorf(headerMember, "scale: %w", err)
	}
	m.Task.Scale = s
	if err := m.Task.Check(); err != nil {
		return archive.Errorf(headerMember, "%w", err)
	}
	if n := layers.Numbers(s.Form); int64(n) > size/int64(s.Dtype.Size()) {
		return archive.Errorf(headerMember, "a scale of %d numbers does not fit in a file of %d bytes", n, size)
	}
	net, err := layers.Build(s.Form, s.Dtype, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return archive.Errorf(headerMember, "scale: %w", err)
	}
	s.Own(net)
	for _, p := range layers.Arrays(s.Net) {
		if p.Value, err = a.Array(p.Name+".npy", m.Dtype(), p.Value.Shape()...); err != nil {
			return err
		}
	}
	return nil
}
