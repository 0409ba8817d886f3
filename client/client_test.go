package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-valla/valla/client"
)

// busy answers with 429 some times before it answers.
func busy(times int, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"expected a token"}`)
			return
		}
		if times--; times >= 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprint(w, `{"error":"the queue is full"}`)
			return
		}
		fmt.Fprint(w, answer)
	}
}

func TestClient(t *testing.T) {
	for name, c := range map[string]struct {
		token, answer, want string
		times, attempts     int
		columns             map[string][]float64
	}{
		"busy":         {"secret", `{"model_version":"v","outputs":[{"name":"mean","data":[1,2]}]}`, "", 2, 3, nil},
		"too busy":     {"secret", `{}`, "status 429: the queue is full", 3, 3, nil},
		"no token":     {"", `{}`, "status 401: expected a token", 0, 0, nil},
		"no JSON":      {"secret", `x`, "the answer of", 0, 0, nil},
		"other output": {"secret", `{"outputs":[{"name":"mean","data":["x"]}]}`, `output "mean"`, 0, 0, nil},
	} {
		s := httptest.NewServer(busy(c.times, c.answer))
		defer s.Close()
		p, err := (&client.Client{URL: s.URL, Token: c.token, Attempts: c.attempts}).Rows(t.Context(), "m", [][]float64{{1}, {2}})
		switch {
		case c.want == "" && (err != nil || p.Version != "v" || len(p.Mean) != 2):
			t.Errorf("%s: %+v, error %v", name, p, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, expected %q", name, err, c.want)
		}
	}
	one := httptest.NewServer(busy(0, `{"outputs":[{"name":"mean","data":[1,2]},{"name":"std","data":[null,3]}]}`))
	defer one.Close()
	if p, err := (&client.Client{URL: one.URL, Token: "secret"}).Rows(t.Context(), "m", [][]float64{{1}, {2}}); err != nil || p.Std[0] == p.Std[0] || p.Std[1] != 3 {
		t.Errorf("standard deviations %+v, want NaN for null; error %v", p, err)
	}
	if _, err := (&client.Client{URL: one.URL, Token: "secret"}).Rows(t.Context(), "m", [][]float64{{1, 2, 3}, {4}, {5, 6, 7, 8, 9}}); err == nil || !strings.Contains(err.Error(), "row 1 (counting from 0) has 1 numbers, expected 3") {
		t.Errorf("rows of different lengths: %v", err)
	}
	var refused *client.Error
	s := httptest.NewServer(busy(0, `{}`))
	defer s.Close()
	if _, err := (&client.Client{URL: s.URL}).Columns(t.Context(), "m", map[string][]float64{"a": {1}}); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("error %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&client.Client{URL: s.URL}).Rows(ended, "m", [][]float64{{1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after the end of the context", err)
	}
	if _, err := (&client.Client{URL: s.URL}).Rows(t.Context(), "m", nil); err == nil {
		t.Error("no rows: no error")
	}
}

// A program asks a server that "valla serve --model houses.valla" started.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { // stands for it
		fmt.Fprint(w, `{"model_name":"houses","model_version":"72a4","outputs":[{"name":"mean","shape":[1],"datatype":"FP64","data":[247.1]},{"name":"std","shape":[1],"datatype":"FP64","data":[24.1]}]}`)
	}))
	defer server.Close()
	c := &client.Client{URL: server.URL}
	p, err := c.Columns(context.Background(), "houses", map[string][]float64{"rooms": {5}, "age": {20}, "distance": {2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.1f ± %.1f\n", p.Mean[0], p.Std[0])
	// Output: 247.1 ± 24.1
}
