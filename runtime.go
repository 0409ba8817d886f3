package valla

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"gorgonia.org/tensor"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/kernel"
	"github.com/go-valla/valla/internal/onnxfile"
	"github.com/go-valla/valla/internal/onnxruntime"
)

// RuntimeOptions say how [Model.UseRuntime] uses ONNX Runtime. The zero value is ready to use.
type RuntimeOptions struct {
	Library  string // path of the shared library; "" means the variable VALLA_ONNXRUNTIME, or where the system finds it
	Provider string // the processor, one of [RuntimeProviders]; "" means cpu
}

// RuntimeProviders returns the version of the library of ONNX Runtime at path, see [RuntimeOptions], and the processors on which it
// runs models.
func RuntimeProviders(path string) (version string, providers []string, err error) {
	if version, err = onnxruntime.Version(path); err != nil {
		return "", nil, err
	}
	providers, err = onnxruntime.Providers(path)
	return version, providers, err
}

// UseRuntime makes ONNX Runtime compute the predictions of m, in place of the loops of this program: the distributions of the latent
// function, from which m makes predictions as before. What [Model.Export] cannot write is an error, and so are results that differ
// from those of this program by more than the rounding that Export allows; the first inputs are compared, too. Models that are made
// from m afterwards do not use ONNX Runtime, nor do fits. A row may have other last bits in another batch.
func (m *Model) UseRuntime(ctx context.Context, o RuntimeOptions) (err error) {
	defer explain("onnxruntime", &err)
	m.useEngine(nil)
	r, err := m.newRuntime(ctx, o, false)
	if errors.Is(err, errDiffers) {
		r, err = m.newRuntime(ctx, o, true)
	}
	if err == nil {
		m.useEngine(r)
	}
	return err
}

func (m *Model) useEngine(r *runtimePosterior) {
	engines.Lock()
	defer engines.Unlock()
	m.runtime, m.predictions = r, nil
}

// runtimePosterior is the posterior of a model as ONNX Runtime computes it.
type runtimePosterior struct {
	session   *onnxruntime.Session
	outputs   []string                    // names of what the session computes
	shape     []int                       // of an input
	own       gp.Posterior                // computes the same
	tolerance func(output string) float64 // largest difference of an output from it
	checked   atomic.Bool                 // inputs have been compared
	of        modelEngine                 // the parts of the model from which the session was made
}

// newRuntime opens a session for the latent function of m, and compares it with m at random inputs.
func (m *Model) newRuntime(ctx context.Context, o RuntimeOptions, careful bool) (*runtimePosterior, error) {
	r := &runtimePosterior{shape: m.Task.Inputs.Shape, own: m.gp()}
	r.tolerance = func(output string) float64 { return m.exportTolerance(careful, output) }
	r.of = modelEngine{posterior: m.Posterior, laws: m.Laws, by: m.affine()}
	model, err := graph.WriteONNX(func(s *graph.Sheet) (err error) {
		in := s.Stage(tensor.Float64)
		r.outputs, err = m.writeRuntime(s, gp.NewWriting(s, s.Input(in, "input", onnxfile.Double, r.shape...), m.Dtype(), careful))
		return err
	})
	if err != nil {
		return nil, err
	}
	model.Name, model.Producer, model.Version = "valla", "valla", Version()
	dir, err := os.MkdirTemp("", "valla-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files, _, err := model.Write(filepath.Join(dir, "latent.onnx"), 0)
	if err != nil {
		return nil, err
	}
	if r.session, err = onnxruntime.Open(o.Library, files[0], o.Provider, 1); err != nil {
		return nil, err
	}
	in, err := m.Task.Inputs.Apply(m.randomRows(exportRows, false), m.Dtype())
	if err != nil {
		return nil, err
	}
	c, err := r.Compile(gp.Request{Shape: r.shape, Size: exportRows})
	if err == nil {
		err = c.Predict(ctx, graph.Floats(in), &gp.Gaussian{})
	}
	r.checked.Store(false) // the first inputs of a user are compared, too, with what this program promises of its own variances
	r.tolerance = func(output string) float64 { return m.exportTolerance(true, output) }
	return r, err
}

// writeRuntime writes the latent function, and returns the names of the outputs.
func (m *Model) writeRuntime(s *graph.Sheet, w *gp.Writing) (names []string, err error) {
	if err := w.Err(); err != nil {
		return nil, err
	}
	g, err := m.writeLatent(w)
	if err != nil {
		return nil, err
	}
	for _, out := range []struct {
		name string
		node *graph.Node
	}{{"mean", g.Mean}, {"cov", g.Cov}, {"epistemic", g.Epistemic}, {"probs", g.Probs}, {"log_scale", g.LogScale}} {
		if out.node != nil {
			names = append(names, out.name)
			s.Output(out.name, onnxfile.Double, out.node)
		}
	}
	return names, nil
}

// serves reports whether the predictions of m are those of r.
func (r *runtimePosterior) serves(m *Model) bool {
	return r != nil && r.of.posterior == m.Posterior && sameLaws(r.of.laws, m.Laws) && r.of.by.Equal(m.affine())
}

// Compile implements gp.Posterior. All sizes share one session.
func (r *runtimePosterior) Compile(gp.Request) (gp.Compiled, error) {
	return runtimeCompiled{r}, nil
}

// runtimeCompiled implements gp.Compiled.
type runtimeCompiled struct{ *runtimePosterior }

// Bytes implements gp.Compiled: the library does not say.
func (runtimeCompiled) Bytes() int64 { return 0 }

// Predict implements gp.Compiled. The first inputs that are not zeros alone are compared.
func (r runtimeCompiled) Predict(ctx context.Context, x []float64, g *gp.Gaussian) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n := len(x) / tensor.Shape(r.shape).TotalSize()
	in := onnxruntime.Tensor{Type: onnxfile.Double, Shape: append([]int{n}, r.shape...), Data: x}
	values, err := r.session.Run("input", in, r.outputs)
	if err != nil {
		return err
	}
	r.resize(g, n, len(values[0])/n)
	for i, to := range r.fields(g) {
		copy(*to, values[i])
	}
	if kernel.Dot(x, x) == 0 || !r.checked.CompareAndSwap(false, true) {
		return nil
	}
	err = r.check(ctx, x, n, g)
	if err != nil {
		r.checked.Store(false)
	}
	return err
}

// resize makes room for what the session computes. The engine gives rows of one array to several calls, so that the memory is kept.
func (r *runtimePosterior) resize(g *gp.Gaussian, n, c int) {
	g.Resize(n, c, slices.Contains(r.outputs, "epistemic"))
	if slices.Contains(r.outputs, "probs") {
		g.ResizeProbs()
	}
	if slices.Contains(r.outputs, "log_scale") {
		g.ResizeLogScale()
	}
}

// fields returns the slices of g in the order of the outputs.
func (r *runtimePosterior) fields(g *gp.Gaussian) (all []*[]float64) {
	by := map[string]*[]float64{"mean": &g.Mean, "cov": &g.Cov, "epistemic": &g.Epistemic, "probs": &g.Probs, "log_scale": &g.LogScale}
	for _, name := range r.outputs {
		all = append(all, by[name])
	}
	return all
}

// check returns an error if the predictions g at n inputs are not those of this program.
func (r *runtimePosterior) check(ctx context.Context, x []float64, n int, g *gp.Gaussian) error {
	c, err := r.own.Compile(gp.Request{Shape: r.shape, Size: n})
	if err != nil {
		return err
	}
	var want gp.Gaussian
	if err := c.Predict(ctx, slices.Clone(x), &want); err != nil {
		return err
	}
	expected := r.fields(&want)
	for i, got := range r.fields(g) {
		if d, at := difference(*got, *expected[i]); !(d <= r.tolerance(r.outputs[i])) {
			return fmt.Errorf("%w by %.2g in %s, number %d: onnxruntime gives %g, the model %g", errDiffers, d, r.outputs[i], at, (*got)[at], (*expected[i])[at])
		}
	}
	return nil
}
