package serve

import (
	"cmp"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/internal/ram"
)

// TracerName is the name of the scope of the server's traces.
const TracerName = "github.com/go-valla/valla/command/internal/serve"

// Source is a model that a [Server] offers.
type Source struct {
	Name string // name of the model in requests
	Path string // path of the model file
}

// Options say how a [Server] works. The zero value of a number means its default.
type Options struct {
	Models []Source // models that answer

	MaxRows  int   // most rows of a request; 0 means 10,000
	MaxBytes int64 // most bytes of a body; 0 means 16 MiB
	// MaxAnswer is the largest memory of a request with its answer in bytes, which is planned before any work. The requests
	// under way take four times as much together. 0 means a sixteenth of the free memory, at most 256 MiB.
	MaxAnswer int64
	Timeout   time.Duration // longest time until a request has its answer; 0 means 10 s

	Queue      int           // most unanswered requests to a model; 0 means 256
	BatchRows  int           // rows that are computed together, approximately; 0 means 512
	BatchDelay time.Duration // time that a request waits for other requests; 0 means not at all
	Memory     int64         // bytes for compiled predictions of a model; 0 means a quarter of the free memory, at most 1 GiB

	Runtime *valla.RuntimeOptions // ONNX Runtime computes predictions; nil: it does not

	// Outcomes is a folder for labels that come back, by which intervals of probability OutcomeLevel adapt; "" means none.
	Outcomes     string
	OutcomeLevel float64 // see Outcomes; 0 means 0.95
	// OutcomeRows is the number of the last labels that the file of a version keeps at least; it keeps at most twice as many. It is also the
	// most predicted rows that wait for labels by id. 0 means 100,000.
	OutcomeRows int

	Reload time.Duration // time between two checks of the files; 0 means 2 s, below 0 never
	// Tokens are the accepted values of "Authorization: Bearer TOKEN". If there are none, every
	// request is accepted. Requests for the health of the server need no token.
	Tokens []string
	PProf  bool         // whether to serve profiles below /debug/pprof/
	Log    *slog.Logger // log of requests; nil means none
	Tracer trace.Tracer // tracer of OpenTelemetry with the name TracerName; nil means none

	metrics *metrics         // metrics of the server
	now     func() time.Time // clock of the labels; nil means time.Now
}

// complete returns the options with defaults filled in.
func (o Options) complete() Options {
	o.MaxRows = cmp.Or(o.MaxRows, 10_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, 16<<20)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, min(256<<20, ram.Available()/16))
	o.Memory = cmp.Or(o.Memory, min(1<<30, ram.Available()/4))
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Queue = cmp.Or(o.Queue, 256)
	o.OutcomeLevel = cmp.Or(o.OutcomeLevel, usualLevel)
	o.BatchRows = cmp.Or(o.BatchRows, 512)
	o.Reload = cmp.Or(o.Reload, 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Tracer == nil {
		o.Tracer = noop.NewTracerProvider().Tracer(TracerName)
	}
	o.OutcomeRows = cmp.Or(o.OutcomeRows, 100_000)
	if o.now == nil {
		o.now = time.Now
	}
	o.metrics = newMetrics()
	return o
}
