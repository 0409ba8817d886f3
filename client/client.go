// Package client asks a server of valla serve for predictions, by the Open Inference
// Protocol. It waits and asks again where the server says that it is busy.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client asks one server. The zero value of a field means its default.
type Client struct {
	URL   string // such as http://127.0.0.1:8080
	Token string // sent as a bearer token where it is not empty
	// Attempts bounds how often a request is sent that the server has no room for; 0 means 5.
	Attempts int
	HTTP     *http.Client // nil means http.DefaultClient
}

// Prediction is the answer for N rows, in the units of the data.
type Prediction struct {
	Version string // of the model that answered

	// Mean, Std and LatentStd [N,T] are those of T targets: Std is the standard deviation of
	// the target, noise included, LatentStd that of the latent function. They are nil with
	// classes.
	Mean, Std, LatentStd []float64

	Class         []string  // [N] the most probable classes; nil for numbers
	Probabilities []float64 // [N,C]
	Entropy       []float64 // [N] of the probabilities, in nats
}

// Error is an answer other than a prediction.
type Error struct {
	Status int    // of HTTP
	Text   string // what the server says
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("client: the server answers with status %d: %s", e.Status, e.Text)
}

type tensor struct {
	Name     string          `json:"name"`
	Shape    []int           `json:"shape"`
	Datatype string          `json:"datatype"`
	Data     json.RawMessage `json:"data"`
}

// Rows returns the predictions of a model at rows [N,D], with the columns in the model's order.
func (c *Client) Rows(ctx context.Context, model string, rows [][]float64) (*Prediction, error) {
	if len(rows) == 0 {
		return nil, errors.New("client: no rows")
	}
	data, err := json.Marshal(slices.Concat(rows...))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return c.infer(ctx, model, []tensor{{"x", []int{len(rows), len(rows[0])}, "FP64", data}})
}

// Columns returns the predictions of a model for columns [N] by name.
func (c *Client) Columns(ctx context.Context, model string, columns map[string][]float64) (*Prediction, error) {
	return inferColumns(ctx, c, model, "FP64", columns)
}

// Texts returns the predictions of a model for columns [N] by name, with the cells as a file of
// text has them: words, dates, numbers, and "" for a missing value.
func (c *Client) Texts(ctx context.Context, model string, columns map[string][]string) (*Prediction, error) {
	return inferColumns(ctx, c, model, "BYTES", columns)
}

// inferColumns sends a tensor for each column.
func inferColumns[T any](ctx context.Context, c *Client, model, datatype string, columns map[string][]T) (*Prediction, error) {
	var in []tensor
	for name, v := range columns {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("client: column %q: %w", name, err)
		}
		in = append(in, tensor{name, []int{len(v)}, datatype, data})
	}
	slices.SortFunc(in, func(a, b tensor) int { return strings.Compare(a.Name, b.Name) })
	return c.infer(ctx, model, in)
}

// infer sends tensors and decodes the answer.
func (c *Client) infer(ctx context.Context, model string, in []tensor) (*Prediction, error) {
	body, err := json.Marshal(map[string]any{"inputs": in})
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	address, err := url.JoinPath(c.URL, "v2", "models", url.PathEscape(model), "infer")
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	text, err := c.send(ctx, address, body)
	if err != nil {
		return nil, err
	}
	var out struct {
		Version string   `json:"model_version"`
		Outputs []tensor `json:"outputs"`
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("client: the answer of %s: %w", address, err)
	}
	p := &Prediction{Version: out.Version}
	to := map[string]any{"mean": &p.Mean, "std": &p.Std, "latent_std": &p.LatentStd, "class": &p.Class, "probabilities": &p.Probabilities, "entropy": &p.Entropy}
	for _, t := range out.Outputs {
		if v, known := to[t.Name]; known {
			if err := json.Unmarshal(t.Data, v); err != nil {
				return nil, fmt.Errorf("client: the answer of %s: output %q: %w", address, t.Name, err)
			}
		}
	}
	return p, nil
}

// send posts a body until the server has room for it.
func (c *Client) send(ctx context.Context, address string, body []byte) ([]byte, error) {
	attempts := c.Attempts
	if attempts == 0 {
		attempts = 5
	}
	for i := 1; ; i++ {
		text, wait, err := c.once(ctx, address, body)
		if err == nil || wait < 0 || i >= attempts {
			return text, err
		}
		select {
		case <-time.After(max(wait, time.Duration(i*i)*10*time.Millisecond)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// once posts a body. wait is how long to wait before the next attempt, below 0 where none
// makes sense.
func (c *Client) once(ctx context.Context, address string, body []byte) (text []byte, wait time.Duration, err error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, -1, fmt.Errorf("client: %w", err)
	}
	q.Header.Set("Content-Type", "application/json")
	if c.Token != "" {
		q.Header.Set("Authorization", "Bearer "+c.Token)
	}
	h := c.HTTP
	if h == nil {
		h = http.DefaultClient
	}
	a, err := h.Do(q)
	if err != nil {
		return nil, -1, fmt.Errorf("client: %w", err)
	}
	defer a.Body.Close()
	if text, err = io.ReadAll(a.Body); err != nil {
		return nil, -1, fmt.Errorf("client: the answer of %s: %w", address, err)
	}
	if a.StatusCode == http.StatusOK {
		return text, 0, nil
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &said) != nil {
		said.Error = strings.TrimSpace(string(text[:min(len(text), 200)]))
	}
	wait = -1
	if a.StatusCode == http.StatusTooManyRequests || a.StatusCode == http.StatusServiceUnavailable {
		seconds, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		wait = time.Duration(max(0, min(seconds, 60))) * time.Second
	}
	return nil, wait, &Error{a.StatusCode, said.Error}
}
