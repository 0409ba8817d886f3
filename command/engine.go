package command

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/settings"
)

// engine says what computes predictions.
type engine struct {
	name     string // own or onnxruntime
	provider string // processor of onnxruntime
	shared   string // path of its shared library; "" means where it usually is
}

const (
	ownEngine     = "own"
	runtimeEngine = "onnxruntime"
)

func (e *engine) flags(f *pflag.FlagSet) {
	f.StringVar(&e.name, "engine", ownEngine, "what computes predictions: own, the loops of this program, or onnxruntime `NAME`")
	f.StringVar(&e.provider, "provider", "", "`NAME` of the processor for --engine onnxruntime, see valla version --engines (default cpu)")
	f.StringVar(&e.shared, "onnxruntime", "", "`PATH` of the library of ONNX Runtime (default: VALLA_ONNXRUNTIME, or where the system finds it)")
}

// runtime returns how ONNX Runtime is used; nil: it is not.
func (e *engine) runtime() (*valla.RuntimeOptions, error) {
	switch {
	case e.name == ownEngine && (e.provider != "" || e.shared != ""):
		return nil, settings.Errorf("--provider and --onnxruntime need --engine %s", runtimeEngine)
	case e.name == ownEngine:
		return nil, nil
	case e.name != runtimeEngine:
		return nil, settings.Errorf("--engine %s, expected %s or %s", e.name, ownEngine, runtimeEngine)
	}
	return &valla.RuntimeOptions{Library: e.shared, Provider: e.provider}, nil
}

// use makes the engine compute the predictions of m.
func (e *engine) use(ctx context.Context, m *valla.Model) error {
	o, err := e.runtime()
	if err != nil || o == nil {
		return err
	}
	return m.UseRuntime(ctx, *o)
}
