package valla

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/likelihood"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/layers"
	"github.com/go-valla/valla/layers/onnx"
)

// WeightOptions say how [FromWeights] reads a network.
type WeightOptions struct {
	// Network is the network's form. If Hidden is nil, the file gives the widths of a perceptron, and only
	// Activation is needed.
	Network Network
	Layout  layers.Layout // order of dense weights in the file; the zero value means that it is inferred
	// Standardize says that the network was trained on standardised inputs and targets; the
	// moments are then taken from the set. Otherwise it works in the units of the data.
	Standardize bool
	// TargetTransform is the name of the function of the targets that the network was trained to predict, see
	// [task.Transform]; "" means none. The set gives the exponent of task.YeoJohnson, and with Standardize the moments
	// of the transformed targets.
	TargetTransform string
	// Classes makes a classification: output i belongs to the i-th smallest value of the target. A network of one output
	// gives the logit of the second of two classes, 0 and 1: the observation model is then bernoulli.
	Classes bool
	// Likelihood is the observation model of counts, labels or ordered classes that the network was trained with, see
	// [likelihood.Models]; nil means real numbers with Gaussian noise, or Classes.
	Likelihood likelihood.Settings
	// NoiseHead says that the second half of the outputs of an ONNX model, or the second half of those that Network.Output
	// names, tells the noise of each row: the logarithm of its variance or its variance. The model is then the first half
	// with Gaussian noise of these variances times a factor, see [task.Scale]. "" means that all outputs are targets.
	NoiseHead task.ScaleOf
}

// FromWeights makes a model without a posterior from weights that were trained elsewhere, see [layers.Load]. A
// file called .onnx has the form of the network too, see package layers/onnx. A Softmax, LogSoftmax or Sigmoid at the end of such a
// network is left out for classes, a Sigmoid for labels and an Exp for counts, because the outputs are logits or logarithms. The noise variance of a regression is the mean
// squared residual on the set, which should be the set on which the network was trained.
func FromWeights(ctx context.Context, path string, set *data.Set, o WeightOptions) (*Model, error) {
	if isONNX(path) {
		o.Network.Form, o.Network.ends = path, linkEnds(o.Classes, o.Likelihood)
	}
	if err := o.checkNoiseHead(); err != nil {
		return nil, inFile(path, err)
	}
	infer := o.Network.kind() == "mlp" && o.Network.Hidden == nil
	var err error
	if o.Network, err = o.Network.complete(); err != nil {
		return nil, inFile(path, err)
	}
	if err := task.CheckRows(set); err != nil {
		return nil, inFile(path, err)
	}
	load := layers.LoadOptions{Layout: o.Layout}
	m, err := o.unscaled(path, set, load, infer)
	if err != nil {
		return nil, inFile(path, err)
	}
	if infer {
		if o.Network, err = inferred(path, o.Network, m, load); err != nil {
			return nil, err
		}
	}
	if err := m.build(o.Network, 0); err != nil {
		return nil, inFile(path, err)
	}
	notes, err := m.loadWeights(path, o.Network, load)
	if err != nil {
		return nil, err
	}
	if err := m.observe(ctx, set, o); err != nil {
		return nil, inFile(path, err)
	}
	notes = append(notes, m.scaleNotes()...)
	m.History = []Event{{Action: ActionWeights, Label: "MAP", Program: Version(), Record: gp.Record{Rows: set.N(), Settings: settings.Map(&o.Network), Notes: notes}}}
	return m, nil
}

// observe sets the noise of the model by the rows of a set.
func (m *Model) observe(ctx context.Context, set *data.Set, o WeightOptions) (err error) {
	if o.NoiseHead != "" {
		if m.Task.Scale, err = o.noiseScale(); err != nil {
			return err
		}
	}
	if err := m.Task.Check(); err != nil {
		return err
	}
	e, err := m.Task.Examples(set, m.Dtype())
	if err != nil {
		return err
	}
	if m.Task.Classifies() {
		return m.checkLogits(ctx, e)
	}
	return m.estimateNoise(ctx, e)
}

// probabilityRows is how many rows tell whether the outputs of a network are probabilities.
const probabilityRows = 100

// checkLogits refuses a network whose outputs are probabilities of the classes: the class probabilities would be a softmax of these.
func (m *Model) checkLogits(ctx context.Context, e gp.Examples) error {
	out, err := m.outputs(ctx, e.Rows(dense.Spaced(e.N(), probabilityRows)).X)
	if err != nil {
		return err
	}
	for row := range slices.Chunk(out, m.Task.Size()) {
		if slices.Min(row) < 0 || math.Abs(kernel.Sum(row)-1) > 1e-4 {
			return nil
		}
	}
	return fmt.Errorf("the outputs of the network are probabilities, which are 1 in sum for each row, expected logits: export the network without the softmax at its end, or with the logarithms of the probabilities")
}

// classification returns the classes of a network, of which a set may lack a few where they are numbered; nil without classes.
// Of a network with one output it makes the observation model bernoulli.
func (o *WeightOptions) classification(path string, set *data.Set, load layers.LoadOptions, infer bool) (*task.Classification, error) {
	if o.Classes && o.Likelihood != nil {
		return nil, settings.Errorf("classes with a likelihood, expected one of the two")
	}
	if !o.Classes {
		return nil, nil
	}
	c, err := task.Classes(set)
	if err != nil {
		return nil, err
	}
	outputs, err := o.outputs(path, set, load, infer)
	if err != nil {
		return nil, err
	}
	if outputs != 1 || len(c.Classes) != 2 {
		c.Complete(outputs)
		return c, noTransform(o.TargetTransform)
	}
	if c.Names != nil || c.Classes[0] != 0 || c.Classes[1] != 1 {
		return nil, fmt.Errorf("one output, which is the logit of the class 1, expected targets 0 and 1, found other classes of %q", c.Name)
	}
	o.Classes = false
	o.Likelihood, err = likelihood.Named("bernoulli")
	return nil, err
}

// outputs returns the number of outputs of the network.
func (o *WeightOptions) outputs(path string, set *data.Set, load layers.LoadOptions, infer bool) (int, error) {
	if infer {
		mlp, err := layers.InferMLP(path, layers.Activation(o.Network.Activation), load)
		return mlp.Outputs, err
	}
	form, err := o.Network.Describe(set.X.Shape()[1:], 2)
	if err != nil {
		return 0, err
	}
	if shape := placesOf(form); shape != nil {
		return 0, fmt.Errorf("outputs of shape %v for each row, expected one logit for each class: for classes of each pixel or word see valla network places", shape)
	}
	return layers.OutputSize(form), nil
}

// placesOf returns the shape of the outputs of an ONNX model that has several axes beside the rows, nil for others.
func placesOf(form layers.Form) []int {
	f, ok := form.(layers.SequentialForm)
	if !ok || len(f.Layers) != 2 || f.Layers[1] != (layers.Flatten{}) {
		return nil
	}
	if _, ok := f.Layers[0].(onnx.Graph); !ok {
		return nil
	}
	shape, err := layers.OutputShape(f.Layers[:1], f.Input...)
	if err != nil {
		return nil
	}
	return shape
}

// modelledTargets returns the outputs of an observation model of counts, labels or ordered classes, in the units of the data.
func modelledTargets(set *data.Set, s likelihood.Settings, transform string) (task.Outputs, error) {
	r, err := task.ModelledTargets(set, set, s)
	if err != nil {
		return nil, err
	}
	if r.Std != nil || transform != "" {
		return nil, settings.Errorf("the likelihood %s for a network from elsewhere, expected a model of counts, labels or ordered classes, without a target transform", r.Model.Name)
	}
	return r, nil
}

// inFile returns an error with the path of the file before it, unless the error names the file itself.
func inFile(path string, err error) error {
	if errors.As(err, new(*fs.PathError)) || strings.HasPrefix(err.Error(), path+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// loadWeights gives the network the weights in a file. It returns notes on them.
func (m *Model) loadWeights(path string, n Network, load layers.LoadOptions) (notes []string, err error) {
	if !isONNX(path) {
		err := layers.Load(path, m.Net, load)
		if errors.As(err, new(*layers.ShapeError)) {
			err = fmt.Errorf("%w%s", err, m.ofClasses())
		}
		return nil, err
	}
	f, err := n.onnx()
	if err != nil {
		return nil, err
	}
	if m.Net, err = f.Network(dtypes[n.Dtype]); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if note := inputNote(m.Form, m.Task.Inputs.Features); note != "" {
		notes = append(notes, note)
	}
	if c := m.Task.Size(); f.Ended == "Sigmoid" && m.Task.Classifies() && c > 2 {
		notes = append(notes, fmt.Sprintf("The network ends in a Sigmoid for each of %d classes, as a network for labels does, which may all be right at once. Class probabilities are here the softmax of what comes before it, which is not what such a network was trained for; "+
			"for columns of labels, 0 or 1, the likelihood bernoulli is right.", c))
	}
	if len(f.Buffers) > 0 {
		notes = append(notes, fmt.Sprintf("The arrays %s count as buffers, which are not trained, and stay certain: they are statistics by their names, or standardise the inputs.", strings.Join(f.Buffers, ", ")))
	}
	return notes, nil
}

// unscaled returns a model with the task of a set, without a network yet. infer says that the file gives the widths.
func (o WeightOptions) unscaled(path string, set *data.Set, load layers.LoadOptions, infer bool) (*Model, error) {
	if e := set.Encoding; e != nil && !e.Plain() {
		return nil, fmt.Errorf("expected columns of numbers without missing values, as the network has taken them, found %s", strings.Join(e.Summary(), "; "))
	}
	classes, err := o.classification(path, set, load, infer)
	if err != nil {
		return nil, err
	}
	m := &Model{Task: task.Task{
		Inputs:  o.Network.scaled(set),
		Outputs: &task.Regression{Names: set.Targets, NoiseVariance: 1},
	}}
	if o.Standardize {
		if m.Task.Inputs, err = o.Network.inputs(set); err != nil {
			return nil, err
		}
		if m.Task.Outputs, err = task.StandardizedTargets(set); err != nil {
			return nil, err
		}
	}
	if o.Likelihood != nil {
		m.Task.Outputs, err = modelledTargets(set, o.Likelihood, o.TargetTransform)
	} else if classes != nil {
		m.Task.Outputs = classes
	} else if o.TargetTransform != "" {
		m.Task.Outputs, err = m.Task.Outputs.(*task.Regression).Transformed(set, set, o.TargetTransform)
	}
	return m, err
}

// inferred completes the form of a perceptron by the shapes of its weights.
func inferred(path string, n Network, m *Model, load layers.LoadOptions) (Network, error) {
	mlp, err := layers.InferMLP(path, layers.Activation(n.Activation), load)
	if err != nil {
		return n, err
	}
	in, out := tensor.Shape(m.Task.Inputs.Shape).TotalSize(), m.Task.Size()
	if mlp.Inputs != in || mlp.Outputs != out {
		return n, fmt.Errorf("%s: the network maps %d inputs to %d outputs, expected %d inputs%s and %d outputs%s",
			path, mlp.Inputs, mlp.Outputs, in, named(m.Task.Inputs.Features), out, m.ofClasses())
	}
	n.Hidden = append([]int{}, mlp.Hidden...)
	return n, nil
}

// ofClasses says in a message that the number of outputs comes from the classes in the data; it is "" without classes.
func (m *Model) ofClasses() string {
	c, ok := m.Task.Outputs.(*task.Classification)
	if !ok {
		return ""
	}
	names := c.Names
	if names == nil {
		for _, v := range c.Classes {
			names = append(names, fmt.Sprint(v))
		}
	}
	return fmt.Sprintf("; the column %q has %d classes, %q, and each has an output", c.Name, len(c.Classes), names[:min(20, len(names))])
}

// named lists features in a message.
func named(features []string) string {
	if features == nil {
		return ""
	}
	return fmt.Sprintf(" (the features %q)", features[:min(20, len(features))])
}
