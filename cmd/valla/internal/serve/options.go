package serve

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// TracerName is the name of the scope of the server's traces.
const TracerName = "github.com/go-valla/valla/cmd/valla/internal/serve"

// Source is a model file and the name under which it answers.
type Source struct{ Name, Path string }

// Options say how a [Server] works. The zero value of a number means its default.
type Options struct {
	Models []Source

	MaxRows  int           // of a request; 0 means 10,000
	MaxBytes int64         // of a request's body; 0 means 16 MiB
	Timeout  time.Duration // of a request, until it has its answer; 0 means 10 s

	Queue      int           // requests that may wait or be computed, for each model; 0 means 256
	BatchRows  int           // rows that are computed together, about; 0 means 512
	BatchDelay time.Duration // that a request waits for others; 0 means not at all
	Memory     int64         // bytes for compiled predictions of a model; 0 means 1 GiB

	Reload time.Duration // between two looks at the files; 0 means 2 s, below 0 never
	// Tokens, if there are any, are those of which a client must send one, as
	// "Authorization: Bearer TOKEN". The health of the server needs none.
	Tokens []string
	PProf  bool         // serves profiles below /debug/pprof/
	Log    *slog.Logger // nil: none
	Tracer trace.Tracer // of OpenTelemetry, called TracerName; nil: none

	metrics *metrics
}

// complete fills in the defaults.
func (o Options) complete() Options {
	orElse(&o.MaxRows, 10_000)
	orElse(&o.MaxBytes, 16<<20)
	orElse(&o.Timeout, 10*time.Second)
	orElse(&o.Queue, 256)
	orElse(&o.BatchRows, 512)
	orElse(&o.Reload, 2*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer(TracerName)
	}
	o.metrics = newMetrics()
	return o
}

func orElse[T comparable](v *T, other T) {
	var zero T
	if *v == zero {
		*v = other
	}
}
