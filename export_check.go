package valla

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/data"
	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/calibrate"
	"github.com/go-valla/valla/gp/task"
	"github.com/go-valla/valla/internal/dense"
	"github.com/go-valla/valla/internal/onnxfile"
	"github.com/go-valla/valla/internal/onnxruntime"
	"github.com/go-valla/valla/layers/onnx"
)

const (
	exportRows = 20 // random rows at which a file is compared
	// exportTolerance and exportTolerance64 are the largest differences from Predict, for float32 and float64.
	exportTolerance, exportTolerance64 = 1e-5, 1e-9
	// ownTolerance is that of float64 where the posterior has a mean of its own, whose sum κ_xz α over the inducing points has large
	// terms of both signs. Fits to small tables differed by 5e-9.
	ownTolerance = 1e-6
	// wideTolerance is the largest difference of what comes from a variance, and epistemicTolerance of the epistemic part, a smaller
	// difference, for a network of float32 that the file computes in float64: Predict has lost digits there, and the file has not.
	// Small VaLLA models differed by 1e-4 in standard deviations and by 6e-4 in their epistemic parts.
	wideTolerance, epistemicTolerance = 5e-4, 5e-3
)

// exportRows returns the rows at which a file is compared, as the file takes them: the given ones, or random ones.
func (m *Model) exportRows(o ExportOptions) (*tensor.Dense, error) {
	if o.Rows == nil {
		return m.randomRows(exportRows, o.Bytes), nil
	}
	shape := m.Task.Inputs.Shape
	if n := o.Rows.Shape(); n.Dims() < 1 || n[0] < 1 || !m.Task.Inputs.Takes(n[1:]) {
		return nil, fmt.Errorf("rows of shape %v, expected [N] rows of shape %v", n, shape)
	}
	switch bytes := o.Rows.Dtype() == tensor.Uint8; {
	case o.Bytes && !bytes:
		return nil, fmt.Errorf("rows of %v for a file that takes bytes, expected bytes", o.Rows.Dtype())
	case bytes && !o.Bytes:
		v := data.Float64s(o.Rows)
		for i := range v {
			v[i] /= 255
		}
		return tensor.New(tensor.WithShape(o.Rows.Shape()...), tensor.WithBacking(v)), nil
	}
	return o.Rows, nil
}

// randomRows returns n rows in the units of the data: bytes, or numbers with the means and standard deviations of the scaling of the
// inputs. Numbers for a network that was made for bytes are bytes divided by 255. Columns of whole numbers, such as words and
// categories, have values that the rows of the fit have.
func (m *Model) randomRows(n int, bytes bool) *tensor.Dense {
	rng, in := rand.New(rand.NewPCG(uint64(n), 1)), m.Task.Inputs
	size := tensor.Shape(in.Shape).TotalSize()
	v, pixels, run := make([]float64, n*size), make([]uint8, n*size), size/in.Shape[0]
	whole := m.wholeValues(size)
	for i := range v {
		v[i], pixels[i] = rng.NormFloat64(), uint8(rng.IntN(256))
		switch {
		case in.Bytes:
			v[i] = float64(pixels[i]) / 255
		case whole[i%size] != nil:
			v[i] = whole[i%size][rng.IntN(len(whole[i%size]))]
		case in.Whole != nil && in.Whole[i%size]:
			v[i] = math.Round(v[i])
		case in.Mean != nil:
			c := i / run % len(in.Mean)
			v[i] = in.Mean[c] + in.Std[c]*v[i]
		}
	}
	shape := append([]int{n}, in.Shape...)
	if bytes {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(pixels))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
}

// wholeValues returns, for each column of the inputs of a size, some of the values that the rows of a fit have where all of
// them are whole numbers; nil for other columns, and where the file does not tell.
func (m *Model) wholeValues(size int) [][]float64 {
	all := make([][]float64, size)
	for j, p := range m.Profile() {
		if !slices.ContainsFunc(p.Quantiles, func(x float64) bool { return x != math.Trunc(x) }) {
			all[j] = p.Quantiles
		}
	}
	return all
}

// compareExport compares the outputs of the file at path with the predictions of the model, and notes the differences.
func (m *Model) compareExport(ctx context.Context, path string, e *Export, rows *tensor.Dense, o ExportOptions) error {
	want, err := m.predictedOutputs(ctx, rows, e, o)
	if err != nil {
		return err
	}
	input := tensor.New(tensor.WithShape(append([]int{rows.Shape()[0]}, m.Task.Inputs.Shape...)...), tensor.WithBacking(data.Float64s(rows)))
	if err := m.compareOutputs(e, o.Level, want, func(names []string) ([][]float64, error) { return readOutputs(ctx, path, e.Outputs, names, input) }); err != nil {
		return fmt.Errorf("reading the file again: %w", err)
	}
	if !o.Check {
		return nil
	}
	s, err := onnxruntime.Open(o.Library, path, "", 0)
	if err != nil {
		return err
	}
	in := runtimeInput(rows, e.Input.Type, m.Task.Inputs.Shape)
	err = m.compareOutputs(e, o.Level, want, func(names []string) ([][]float64, error) { return s.Run(e.Input.Name, in, names) })
	if err != nil {
		return fmt.Errorf("by ONNX Runtime: %w", err)
	}
	e.Runtime, err = onnxruntime.Version(o.Library)
	return err
}

// compareOutputs compares the outputs that run computes with those of the model, with sets of a level, and notes the largest differences.
func (m *Model) compareOutputs(e *Export, level float64, want map[string][]float64, run func(names []string) ([][]float64, error)) error {
	var names []string
	for _, out := range e.Outputs {
		names = append(names, out.Name)
	}
	all, err := run(names)
	if err != nil {
		return err
	}
	for i, got := range all {
		out := &e.Outputs[i]
		for k := range got {
			if m.onThreshold(out.Name, level, want["probabilities"], k) {
				got[k] = want[out.Name][k]
			}
		}
		d, at := difference(got, want[out.Name])
		if out.Difference = max(out.Difference, d); !(d <= m.exportTolerance(e.Wide, out.Name)) {
			return fmt.Errorf("%w by %.2g in output %q, number %d: it gives %g, the model %g", errDiffers, d, out.Name, at, got[at], want[out.Name][at])
		}
	}
	return nil
}

// onThreshold says whether rounding decides number k of an output: a class of a set, or the mark of a row, whose probability, of all probs [n,C], is at the
// threshold.
func (m *Model) onThreshold(output string, level float64, probs []float64, k int) bool {
	if m.Calibration == nil || probs == nil {
		return false
	}
	p, threshold := 0.0, math.Inf(1)
	switch a, c := m.Calibration.Abstain, m.Task.Size(); {
	case output == "set":
		q, err := m.Calibration.Conformal.Quantile(0, level)
		if err != nil {
			return false
		}
		p, threshold = probs[k], 1-q
	case output == "abstain" && a.By == calibrate.ByProbability:
		p, threshold = slices.Max(probs[k*c:(k+1)*c]), a.Most
	}
	return math.Abs(p-threshold) <= 2*m.slack()
}

// slack is how far a number of a file may be from a threshold that its row keeps.
func (m *Model) slack() float64 {
	if m.Dtype() == tensor.Float32 {
		return exportTolerance
	}
	return exportTolerance64
}

// runtimeInput returns rows as the input of a file, with elements of a type.
func runtimeInput(rows *tensor.Dense, typ string, shape []int) onnxruntime.Tensor {
	numbers := data.Float64s(rows)
	t := onnxruntime.Tensor{Shape: append([]int{rows.Shape()[0]}, shape...), Type: onnxfile.Double, Data: numbers}
	switch typ {
	case "uint8":
		t.Type, t.Data = onnxfile.Uint8, narrowed[uint8](numbers)
	case "float32":
		t.Type, t.Data = onnxfile.Float, narrowed[float32](numbers)
	}
	return t
}

// narrowed converts numbers to another type.
func narrowed[T uint8 | float32](v []float64) []T {
	out := make([]T, len(v))
	for i, x := range v {
		out[i] = T(x)
	}
	return out
}

// exportTolerance is the largest difference of an output of a file from the model. The file computes in float64 if wide says so.
func (m *Model) exportTolerance(wide bool, output string) float64 {
	switch {
	case m.Dtype() != tensor.Float32 && m.Posterior != nil && gp.MeanOf(m.Posterior.Stored) != "":
		return ownTolerance
	case m.Dtype() != tensor.Float32:
		return exportTolerance64
	case wide && strings.HasPrefix(output, "epistemic"):
		return epistemicTolerance
	case wide && output != "mean":
		return wideTolerance
	}
	return exportTolerance
}

// readOutputs computes the outputs of a file at the inputs x [N,…], in float64.
func readOutputs(ctx context.Context, path string, outputs []ExportedOutput, names []string, x *tensor.Dense) ([][]float64, error) {
	f, err := onnx.Read(path, onnx.Options{Outputs: names})
	if err != nil {
		return nil, err
	}
	net, err := f.Network(tensor.Float64)
	if err != nil {
		return nil, err
	}
	v, err := gp.Point{Net: net, Dtype: tensor.Float64}.Mean(ctx, x) // the outputs of a row beside each other
	if err != nil {
		return nil, err
	}
	all := make([][]float64, len(outputs))
	for row := range slices.Chunk(v.Float64s(), v.Shape()[1]) {
		for i, out := range outputs {
			size := tensor.Shape(out.Shape).TotalSize()
			all[i], row = append(all[i], row[:size]...), row[size:]
		}
	}
	return all, nil
}

// difference returns the largest difference of got from want, relative to the number or the root mean square, and its place: the first
// NaN if there is one.
func difference(got, want []float64) (largest float64, at int) {
	if len(got) != len(want) {
		return math.Inf(1), 0
	}
	square := 0.0
	for _, v := range want {
		if !math.IsInf(v, 0) {
			square += v * v / float64(len(want))
		}
	}
	for i, v := range want {
		d := math.Abs(got[i] - v)
		if got[i] == v { // or both are infinite
			d = 0
		}
		if d > 0 {
			d /= max(math.Abs(v), math.Sqrt(square))
		}
		if math.IsNaN(d) { // no number after it is larger
			return d, i
		}
		if d > largest {
			largest, at = d, i
		}
	}
	return largest, at
}

// predictedOutputs returns what Predict says about each output of a file.
func (m *Model) predictedOutputs(ctx context.Context, rows *tensor.Dense, e *Export, o ExportOptions) (map[string][]float64, error) {
	p, err := m.Predict(ctx, rows, PredictOptions{Link: o.Link})
	if err != nil {
		return nil, err
	}
	asked, err := p.Abstains()
	if err != nil {
		return nil, err
	}
	marks := dense.Ones(asked)
	if m.Task.Classifies() {
		all, err := m.predictedClasses(ctx, rows, p, o)
		if err == nil {
			all["abstain"] = marks
		}
		return all, err
	}
	all := map[string][]float64{"abstain": marks, "mean": p.Mean, "std": p.Std(), "epistemic_std": p.EpistemicStd(), "aleatoric_std": p.AleatoricStd()}
	for _, out := range e.Outputs {
		if out.Name == "probabilities" {
			all[out.Name] = valueProbabilities(p, out.Shape[len(out.Shape)-1])
		}
	}
	if all["lower"], all["upper"], err = p.Interval(o.Level); err != nil {
		return nil, err
	}
	quantiles := make([]float64, len(p.Mean)*len(o.Quantiles))
	for k, level := range o.Quantiles {
		bounds, err := p.Bound(level)
		if err != nil {
			return nil, err
		}
		for i, v := range bounds {
			quantiles[i*len(o.Quantiles)+k] = v
		}
	}
	all["quantiles"] = quantiles
	return all, nil
}

// valueProbabilities returns the probabilities of the values 0…k−1 of each target.
func valueProbabilities(p *task.Prediction, k int) (all []float64) {
	t := len(p.Targets)
	for i := range p.Mean {
		d := p.Distribution(i/t, i%t)
		for value := range k {
			all = append(all, math.Exp(d.LogDensity(float64(value))))
		}
	}
	return all
}

// predictedClasses is predictedOutputs for classes.
func (m *Model) predictedClasses(ctx context.Context, rows *tensor.Dense, p *task.Prediction, o ExportOptions) (map[string][]float64, error) {
	g, err := m.Latent(ctx, rows)
	if err != nil {
		return nil, err
	}
	c := g.Outputs()
	std := make([]float64, len(g.Mean))
	for i := range std {
		std[i] = math.Sqrt(max(0, g.Cov[i*c+i%c]))
	}
	all := map[string][]float64{"probabilities": p.Probs, "logit_std": std}
	if p.Conformal == nil {
		return all, nil
	}
	sets, err := p.Sets(o.Level)
	if err != nil {
		return nil, err
	}
	inside := make([]float64, len(p.Probs))
	for i, set := range sets {
		for _, k := range set {
			inside[i*c+k] = 1
		}
	}
	all["set"] = inside
	return all, nil
}
