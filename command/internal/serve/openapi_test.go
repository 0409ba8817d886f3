package serve

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// TestOpenAPI: the protocol's own description accepts every request and every answer.
func TestOpenAPI(t *testing.T) {
	r := start(t, nil)
	router := protocolRouter(t)
	x := `"inputs":[{"name":"x","shape":[2,2],"datatype":"FP64","data":[0.5,90,-1,130]}]`
	for _, h := range r.Server.models {
		path := "/v2/models/" + h.name + "/versions/" + h.present()
		for _, c := range []struct{ method, path, body string }{
			{"GET", "/v2/health/live", ""}, {"GET", "/v2/health/ready", ""}, {"GET", "/v2/", ""}, {"GET", path, ""}, {"GET", path + "/ready", ""},
			{"POST", path + "/infer", `{` + x + `}`},
			{"POST", path + "/infer", `{"id":"1","parameters":{"samples":3},` + x + `,"outputs":[{"name":"covariance"},{"name":"samples","parameters":{"samples":2}}]}`},
			{"POST", path + "/infer", `{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","data":[1]}]}`}, // refused
		} {
			r.validated(router, c.method, c.path, c.body)
		}
	}
}

// protocolRouter reads the description of the protocol, whose paths have a $ too many.
func protocolRouter(t *testing.T) routers.Router {
	path := filepath.Join("..", "..", "..", "..", "shared", "oip", "open_inference_rest.yaml")
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("no %s, the description of the Open Inference Protocol", path)
	} else if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(bytes.ReplaceAll(text, []byte("${"), []byte("{")))
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return router
}

// validated checks a request and its answer against the description.
func (r *running) validated(router routers.Router, method, path, body string) {
	r.t.Helper()
	q, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		r.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	route, parameters, err := router.FindRoute(q)
	if err != nil {
		r.t.Errorf("%s %s: %v", method, path, err)
		return
	}
	in := &openapi3filter.RequestValidationInput{Request: q, PathParams: parameters, Route: route}
	if err := openapi3filter.ValidateRequest(q.Context(), in); err != nil {
		r.t.Errorf("%s %s %s: request: %v", method, path, body, err)
	}
	a, got := r.send(method, path, "application/json", []byte(body))
	out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: a.StatusCode, Header: a.Header, Body: io.NopCloser(bytes.NewReader(got)), Options: &openapi3filter.Options{IncludeResponseStatus: true}}
	if err := openapi3filter.ValidateResponse(q.Context(), out); err != nil {
		r.t.Errorf("%s %s %s: answer %d %s: %v", method, path, body, a.StatusCode, got, err)
	}
}
