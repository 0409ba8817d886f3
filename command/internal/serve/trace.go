package serve

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// propagator reads the trace of a client from its header traceparent (W3C Trace Context).
var propagator propagation.TraceContext

// trace returns the id of the trace of the request, or "" if there is none.
func (q *request) trace() string {
	if c := q.span.SpanContext(); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// endSpan ends the span of the request with its status. Only an error of the server marks the span as
// failed.
func (q *request) endSpan(model, version string, status int, err error) {
	q.span.SetAttributes(attribute.String("valla.model", model), attribute.String("valla.version", version),
		attribute.String("valla.request_id", q.id), attribute.Int("valla.rows", q.rows), attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		q.span.SetStatus(codes.Error, err.Error())
	}
	q.span.End()
}

// trace adds two spans to the trace of the job's request: the time in the queue, and the time in which
// the batch was computed.
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
