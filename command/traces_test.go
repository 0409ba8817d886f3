package command_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collecting starts a collector of OpenTelemetry, which keeps spans by name, and one of the resource's
// attributes as the span of that name.
func collecting(t *testing.T) (address string, spans *sync.Map) {
	spans = new(sync.Map)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var in collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &in)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		for _, rs := range in.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				spans.Store(a.Key+"="+a.Value.GetStringValue(), &tracepb.Span{})
			}
			for _, ss := range rs.ScopeSpans {
				for _, span := range ss.Spans {
					spans.Store(span.Name, span)
				}
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, spans
}

// TestServeTraces: a collector gets the spans of a request, which belong to the client's trace, with
// the time in the queue and the time of the computation within.
func TestServeTraces(t *testing.T) {
	dir := t.TempDir()
	rooms(t, dir)
	address, spans := collecting(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=prices")
	s := serving(t, dir, "--model", "houses.valla", "--log", "json")
	q, err := http.NewRequest(http.MethodPost, s.url+"/predict", strings.NewReader(`[[3,4]]`))
	if err != nil {
		t.Fatal(err)
	}
	const trace, client = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	q.Header.Set("Traceparent", "00-"+trace+"-"+client+"-01")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if code := s.end(t); code != 0 || !strings.Contains(s.err.String(), `"trace":"`+trace+`"`) {
		t.Errorf("exit code %d, log %s", code, &s.err)
	}
	get := func(name string) *tracepb.Span {
		v, ok := spans.Load(name)
		if !ok {
			t.Fatalf("no span %s", name)
		}
		return v.(*tracepb.Span)
	}
	whole, queue, compute := get("predict"), get("queue"), get("compute")
	get("service.name=prices")
	if hex.EncodeToString(whole.TraceId) != trace || hex.EncodeToString(whole.ParentSpanId) != client || whole.Kind != tracepb.Span_SPAN_KIND_SERVER {
		t.Errorf("span %v", whole)
	}
	for _, child := range []*tracepb.Span{queue, compute} {
		if string(child.ParentSpanId) != string(whole.SpanId) || child.StartTimeUnixNano < whole.StartTimeUnixNano || child.EndTimeUnixNano > whole.EndTimeUnixNano {
			t.Errorf("span %v is not within %v", child, whole)
		}
	}
	if queue.EndTimeUnixNano != compute.StartTimeUnixNano {
		t.Errorf("the queue ends at %d, the computation begins at %d", queue.EndTimeUnixNano, compute.StartTimeUnixNano)
	}
	if !strings.Contains(whole.String(), `key:"valla.rows"`) {
		t.Errorf("span %v does not count its rows", whole)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	fails(t, dir, 2, `OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", expected http/protobuf`, "serve", "--model", "houses.valla")
}
