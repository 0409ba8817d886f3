package valla

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/ensemble"
	"github.com/go-valla/valla/gp/law"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/onnxfile"
	"github.com/go-valla/valla/internal/settings"
	"gorgonia.org/tensor"
)

// ExportOptions say what [Model.Export] writes. The zero value is ready to use.
type ExportOptions struct {
	Level     float64   // probability of the interval from lower to upper, or of the set of classes; 0 means 0.95
	Quantiles []float64 // probabilities of further quantiles
	Link      task.Link // link of class probabilities; "" means the usual one
	// Bytes makes the inputs bytes, such as pixels, which the file divides by 255. Without Bytes the inputs are numbers: the columns of a
	// table, or pixels from 0 to 1.
	Bytes bool
	// Encoded makes the inputs the encoded features, see [task.Inputs], in place of the columns of a table. It is needed where columns
	// are no plain numbers.
	Encoded bool
	// Rows [N,…] are inputs in the units of the data, at which the file is compared with Predict; nil: random inputs.
	Rows *tensor.Dense
	// Check compares the file as ONNX Runtime computes it, too. Library is the path of its shared library; "" means the environment
	// variable VALLA_ONNXRUNTIME, or where the system finds it.
	Check   bool
	Library string // see Check
}

// Export describes a file that [Model.Export] has written.
type Export struct {
	Files       []string         `json:"files"`                 // paths: the model and, if it is large, the file of its arrays
	Bytes       int              `json:"bytes"`                 // size of all files
	Input       ExportedValue    `json:"input"`                 // what a run is given, one row for each example
	Outputs     []ExportedOutput `json:"outputs"`               // what a run returns
	Rows        int              `json:"rows"`                  // number of rows at which the file was compared with Predict
	Wide        bool             `json:"wide"`                  // the file computes a network of float32 in float64, because float32 has too few digits
	Careful     bool             `json:"careful"`               // variances that are small differences are computed as sums of squares, which may take more time and room
	Runtime     string           `json:"onnxruntime,omitempty"` // version of ONNX Runtime with which the file was compared, see ExportOptions
	Fingerprint string           `json:"fingerprint"`           // of the weights
}

// ExportedValue is an input or an output of a file.
type ExportedValue struct {
	Name  string   `json:"name"`           // in the file
	Type  string   `json:"type"`           // of the elements: float32, float64 or uint8
	Shape []int    `json:"shape"`          // of one example
	Axis  []string `json:"axis,omitempty"` // names of the numbers along the first axis of Shape: features, targets or classes
}

// ExportedOutput is an output of a file.
type ExportedOutput struct {
	ExportedValue
	Help string `json:"help"` // what the numbers are
	// Difference is the largest difference from Predict at the rows, relative to the number or, if this is larger, to the root mean
	// square of the output.
	Difference float64 `json:"difference"`
}

// errDiffers is wrapped where a file does not give the predictions of the model.
var errDiffers = errors.New("the file differs from the model")

// Export writes the model with its posterior as a model of ONNX (https://onnx.ai), opset 17, to the file at path: inputs in the units of
// the data, and as outputs mean, std, epistemic_std, aleatoric_std, lower, upper and quantiles of each target, or
// probabilities, logit_std and, if the model is conformal, the set of classes. Before the file stands at path, it is read and compared
// with Predict; a difference of more than 1e-5 with a network of float32, or 1e-9 with float64, is an error. What has no form in ONNX
// is an error that names it.
func (m *Model) Export(ctx context.Context, path string, o ExportOptions) (_ *Export, err error) {
	defer explain("export", &err)
	o.Level = cmp.Or(o.Level, 0.95)
	if err := m.checkExport(o); err != nil {
		return nil, err
	}
	out, err := m.export(ctx, path, o, false)
	if errors.Is(err, errDiffers) {
		return m.export(ctx, path, o, true)
	}
	return out, err
}

// checkExport returns an error for options that make no sense, and for inputs that cannot be exported.
func (m *Model) checkExport(o ExportOptions) error {
	for _, p := range append([]float64{o.Level}, o.Quantiles...) {
		if !(p > 0 && p < 1) {
			return settings.Errorf("probability %g, expected a number between 0 and 1", p)
		}
	}
	if o.Bytes && m.Task.Inputs.Features != nil {
		return settings.Errorf("the inputs are the columns of a table, which are no bytes")
	}
	e := m.Task.Inputs.Encoding
	if e == nil || e.Plain() || o.Encoded {
		return nil
	}
	var names []string
	for _, c := range e.Columns {
		if !c.Plain() {
			names = append(names, strconv.Quote(c.Name))
		}
	}
	return settings.Errorf("the columns %s are encoded from text or have gaps, which a file of ONNX does not do: --encoded makes the %d encoded features its inputs",
		strings.Join(names, ", "), len(m.Task.Inputs.Features))
}

// export is Export for valid options. careful is that of [gp.Writing].
func (m *Model) export(ctx context.Context, path string, o ExportOptions, careful bool) (*Export, error) {
	rows, err := m.exportRows(o)
	if err != nil {
		return nil, err
	}
	var outputs []task.Output
	model, err := graph.WriteONNX(func(s *graph.Sheet) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		outputs, err = m.writeSheet(s, o, careful)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &Export{Wide: careful && m.Dtype() == tensor.Float32, Careful: careful, Rows: rows.Shape()[0], Fingerprint: m.fingerprint()}
	out.describe(model, outputs, m.Task.Inputs.Features)
	if err := m.annotate(model, out, o); err != nil {
		return nil, err
	}
	return out, m.place(ctx, path, model, out, rows, o)
}

// writeSheet writes the model's predictions as a computation, and returns the outputs.
func (m *Model) writeSheet(s *graph.Sheet, o ExportOptions, careful bool) ([]task.Output, error) {
	in := s.Stage(tensor.Float64)
	x := s.Input(in, "input", m.inputType(o), m.Task.Inputs.Shape...)
	w := gp.NewWriting(s, m.Task.Inputs.Write(in, x, o.Bytes), m.Dtype(), careful)
	if err := w.Err(); err != nil {
		return nil, err
	}
	g, err := m.writeLatent(w)
	if err != nil {
		return nil, err
	}
	t := task.WriteOptions{Level: o.Level, Quantiles: o.Quantiles, Link: o.Link, Slack: m.slack()}
	if m.Calibration != nil {
		if m.byInputs() {
			return nil, settings.Errorf("a conformal calibration by groups or with weights cannot be exported")
		}
		t.Conformal, t.Abstain = m.Calibration.Conformal, m.Calibration.Abstain
		if a := t.Abstain; a != nil && a.By == calibrate.ByUnfamiliar {
			if m.spreads() == nil {
				return nil, settings.Errorf("the rule %s cannot be exported without the variances of the training rows", a)
			}
			t.MostSpread = min(spreadAt(m.spreads(), a.Most), math.Sqrt(math.MaxFloat32))
		}
	}
	outputs, err := m.Task.Write(w, g, m.observation(), t)
	for _, out := range outputs {
		s.Output(out.Name, m.outputType(), out.Node)
	}
	return outputs, err
}

// writeLatent writes what [Model.gp] predicts.
func (m *Model) writeLatent(w *gp.Writing) (gp.Written, error) {
	if m.Task.Scale != nil {
		return gp.Written{}, settings.Errorf("a network that tells the noise of each row cannot be exported")
	}
	of := ensemble.Points(m.network(), m.Dtype())
	if m.Posterior != nil {
		writer, ok := m.Posterior.Stored.(gp.Writer)
		if !ok {
			return gp.Written{}, settings.Errorf("the method %q cannot be exported", m.Posterior.Method)
		}
		of = writer
	}
	g, err := of.Write(w)
	if err != nil {
		return g, err
	}
	if slices.ContainsFunc(m.Laws, func(l law.Law) bool { return l.Own != nil }) {
		g.LogScale = m.writeOwnScales(w, g)
	}
	if by := m.affine(); by.Mean != nil {
		g = by.Write(w, g)
	}
	return g, w.Err()
}

// writeOwnScales writes what [Model.ownScales] adds to predictions.
func (m *Model) writeOwnScales(w *gp.Writing, g gp.Written) *graph.Node {
	b, x := w.Out, w.Carry(w.X)
	if w.Err() != nil {
		return nil
	}
	n, t := m.temperature(), x.Shape()[0]
	latent := b.ReLU(b.Diag(g.Cov))
	std := b.Scale(b.Log(b.Affine(latent, 1, m.NoiseVariance()/(n*n))), 0.5)
	return law.WriteAll(b, m.Laws, t, func(k int) *graph.Node {
		last := b.Concat(1, b.Slice(g.Mean, 1, k, k+1), b.Slice(std, 1, k, k+1))
		if d := m.lawInputs(); d > 0 {
			return b.Concat(1, b.Reshape(x, t, d), last)
		}
		return last
	})
}

// inputType is the type of the inputs: float64 for tables, whose numbers may need the digits, and otherwise the type of the network.
func (m *Model) inputType(o ExportOptions) onnxfile.Type {
	switch {
	case o.Bytes:
		return onnxfile.Uint8
	case m.Task.Inputs.Features != nil:
		return onnxfile.Double
	}
	return m.outputType()
}

// outputType is the type of the outputs, which is the type of the network.
func (m *Model) outputType() onnxfile.Type {
	if m.Dtype() == tensor.Float32 {
		return onnxfile.Float
	}
	return onnxfile.Double
}

// typeNames are the names of types of elements.
var typeNames = map[onnxfile.Type]string{onnxfile.Float: "float32", onnxfile.Double: "float64", onnxfile.Uint8: "uint8"}

// describe fills in the inputs and outputs of a model.
func (e *Export) describe(model *onnxfile.Model, outputs []task.Output, features []string) {
	in := model.Inputs[0]
	e.Input = ExportedValue{Name: in.Name, Type: typeNames[in.Type], Shape: in.Shape[1:], Axis: features}
	for i, out := range outputs {
		v := model.Outputs[i]
		e.Outputs = append(e.Outputs, ExportedOutput{ExportedValue: ExportedValue{Name: out.Name, Type: typeNames[v.Type], Shape: v.Shape[1:], Axis: out.Axis}, Help: out.Help})
	}
}

// annotate writes the metadata of a file.
func (m *Model) annotate(model *onnxfile.Model, e *Export, o ExportOptions) error {
	method := "map"
	if m.Posterior != nil {
		method = m.Posterior.Method
	}
	outputs, err := json.Marshal(exportedValues(e.Outputs))
	if err != nil {
		return err
	}
	model.Name, model.Producer, model.Version = "valla", "valla", Version()
	model.Doc = fmt.Sprintf("%v, %s of %s: a network and its posterior.", m, m.Task.Kind(), strings.Join(m.Task.Targets(), ", "))
	model.Meta = []onnxfile.Entry{
		{Key: "valla.version", Text: Version()}, {Key: "valla.model", Text: m.String()}, {Key: "valla.method", Text: method},
		{Key: "valla.task", Text: m.Task.Kind()}, {Key: "valla.targets", Text: strings.Join(m.Task.Targets(), ",")},
		{Key: "valla.features", Text: strings.Join(m.Task.Inputs.Features, ",")},
		{Key: "valla.outputs", Text: string(outputs)}, {Key: "valla.level", Text: fmt.Sprint(o.Level)}, {Key: "valla.quantiles", Text: fmt.Sprint(o.Quantiles)},
		{Key: "valla.fingerprint", Text: e.Fingerprint}, {Key: "valla.units", Text: "the units of the data"},
	}
	return nil
}

// exportedValues returns what outputs are, without the differences.
func exportedValues(outputs []ExportedOutput) (all []ExportedValue) {
	for _, out := range outputs {
		all = append(all, out.ExportedValue)
	}
	return all
}

// place writes the model to a folder beside path, compares it with the model's predictions at rows, and moves it to path.
func (m *Model) place(ctx context.Context, path string, model *onnxfile.Model, out *Export, rows *tensor.Dense, o ExportOptions) error {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".export-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, size, err := model.Write(filepath.Join(dir, filepath.Base(path)), 0)
	if err != nil {
		return err
	}
	if err := m.compareExport(ctx, files[0], out, rows, o); err != nil {
		return err
	}
	out.Bytes = size
	for _, file := range slices.Backward(files) {
		to := filepath.Join(filepath.Dir(path), filepath.Base(file))
		if err := os.Rename(file, to); err != nil {
			return err
		}
		out.Files = append([]string{to}, out.Files...)
	}
	return nil
}
