package command

import (
	"context"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/go-valla/valla"
	"github.com/go-valla/valla/command/internal/serve"
	"github.com/go-valla/valla/internal/settings"
)

// lastTraces bounds the time that the end of the program waits for a collector.
const lastTraces = 5 * time.Second

// traced says whether the environment asks for traces.
func traced() bool {
	return os.Getenv("OTEL_SDK_DISABLED") != "true" && os.Getenv("OTEL_TRACES_EXPORTER") != "none" &&
		(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "")
}

// traces makes the server trace its requests where the variables of OpenTelemetry name a collector,
// to which they go by OTLP over HTTP; the library reads the other variables. end sends what is left.
func (c *serveCommand) traces(ctx context.Context) (end func(), err error) {
	if !traced() {
		return func() {}, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"} {
		if v := os.Getenv(name); v != "" && v != "http/protobuf" {
			return nil, settings.Errorf("%s is %q, expected http/protobuf", name, v)
		}
	}
	log := c.o.Log
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces", "error", err) }))
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "valla"), attribute.String("service.version", valla.Version())), resource.WithFromEnv())
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	c.o.Tracer = p.Tracer(serve.TracerName)
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTraces)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			log.Warn("traces", "error", err)
		}
	}, nil
}
