package serve

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/metadata"
)

// propagator reads the trace of a client from its header traceparent (W3C Trace Context).
var propagator propagation.TraceContext

// carrier has the metadata of gRPC for the propagator.
type carrier metadata.MD

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(key string) string {
	for _, v := range metadata.MD(c).Get(key) {
		return v
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() (keys []string) {
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

// trace returns the id of the trace to which the request belongs, "" for none.
func (q *request) trace() string {
	if c := q.span.SpanContext(); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// endSpan says how the request ended. That a client asked for something wrong is no error of
// the server.
func (q *request) endSpan(model, version string, status int, err error) {
	q.span.SetAttributes(attribute.String("valla.model", model), attribute.String("valla.version", version),
		attribute.String("valla.request_id", q.id), attribute.Int("valla.rows", q.rows), attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		q.span.SetStatus(codes.Error, err.Error())
	}
	q.span.End()
}

// trace adds what the job did to the trace of its request: how long it waited, and how long the
// batch was computed to which it belonged.
func (j *job) trace() {
	span := trace.SpanFromContext(j.ctx)
	if !span.IsRecording() || j.ended.IsZero() {
		return
	}
	tracer := span.TracerProvider().Tracer(TracerName)
	add := func(name string, from, to time.Time) {
		_, s := tracer.Start(j.ctx, name, trace.WithTimestamp(from), trace.WithAttributes(attribute.Int("valla.batch_rows", j.batch)))
		s.End(trace.WithTimestamp(to))
	}
	add("queue", j.queued, j.started)
	add("compute", j.started, j.ended)
}
