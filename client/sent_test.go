package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-valla/valla/client"
)

// TestSent: a request has the path of the model, with its name escaped, and a tensor for each column in the order
// of the names. A request without a token has no header for one.
func TestSent(t *testing.T) {
	var path, body string
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		path, body, header = r.URL.EscapedPath(), string(text), r.Header
		fmt.Fprint(w, `{"model_version":"v","outputs":[{"name":"class","data":["a","b"]},{"name":"entropy","data":[0.5,0]},{"name":"new","data":{}}]}`)
	}))
	defer s.Close()
	for want, send := range map[string]func(c *client.Client) (*client.Prediction, error){
		`{"inputs":[{"name":"x","shape":[2,3],"datatype":"FP64","data":[1,2,3,4,5,6]}]}`: func(c *client.Client) (*client.Prediction, error) {
			return c.Rows(t.Context(), "my model/1", [][]float64{{1, 2, 3}, {4, 5, 6}})
		},
		`{"inputs":[{"name":"a","shape":[2],"datatype":"FP64","data":[0.5,-1]},{"name":"b","shape":[2],"datatype":"FP64","data":[3,4]}]}`: func(c *client.Client) (*client.Prediction, error) {
			return c.Columns(t.Context(), "my model/1", map[string][]float64{"b": {3, 4}, "a": {0.5, -1}})
		},
		`{"inputs":[{"name":"kind","shape":[2],"datatype":"BYTES","data":["red \"x\"",""]}]}`: func(c *client.Client) (*client.Prediction, error) {
			return c.Texts(t.Context(), "my model/1", map[string][]string{"kind": {`red "x"`, ""}})
		},
	} {
		p, err := send(&client.Client{URL: s.URL + "/"})
		if err != nil {
			t.Fatal(err)
		}
		if body != want || path != "/v2/models/my%20model%2F1/infer" || !json.Valid([]byte(body)) {
			t.Errorf("sent %s to %s, want %s", body, path, want)
		}
		if header.Get("Content-Type") != "application/json" || header.Values("Authorization") != nil {
			t.Errorf("headers %v", header)
		}
		if p.Version != "v" || strings.Join(p.Class, " ") != "a b" || p.Entropy[0] != 0.5 || p.Mean != nil || p.Probabilities != nil {
			t.Errorf("prediction %+v", p)
		}
	}
}

// TestRefusals: a status that another attempt cannot change is an error at once, with what the server says. A wait
// that the server asks for ends with the context.
func TestRefusals(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if strings.Contains(r.URL.Path, "later") {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusBadGateway)
		fmt.Fprint(w, strings.Repeat("no JSON ", 100))
	}))
	defer s.Close()
	c := &client.Client{URL: s.URL}
	var refused *client.Error
	_, err := c.Rows(t.Context(), "m", [][]float64{{1}})
	if !errors.As(err, &refused) || refused.Status != http.StatusBadGateway || len(refused.Text) > 200 || asked != 1 {
		t.Errorf("%d requests, error %v", asked, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := c.Rows(ctx, "later", [][]float64{{1}}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second || asked != 2 {
		t.Errorf("%d requests in %v, error %v", asked, time.Since(start), err)
	}
}

// TestUnsendable: what cannot be sent is an error, and nothing is sent.
func TestUnsendable(t *testing.T) {
	asked := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer s.Close()
	for _, c := range []*client.Client{{URL: s.URL}, {URL: "http://a b"}} {
		if _, err := c.Rows(t.Context(), "m", [][]float64{{math.NaN()}}); err == nil {
			t.Error("a number that JSON does not have: no error")
		}
		if _, err := c.Columns(t.Context(), "m", map[string][]float64{"a": {math.Inf(1)}}); err == nil || !strings.Contains(err.Error(), `column "a"`) {
			t.Errorf("an infinite number: error %v", err)
		}
	}
	if _, err := (&client.Client{URL: "http://a b"}).Rows(t.Context(), "m", [][]float64{{1}}); err == nil || asked {
		t.Errorf("a wrong address: error %v", err)
	}
}
