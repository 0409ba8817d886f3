// Package client asks a server for predictions by the Open Inference Protocol; valla serve is such a
// server. If the server is busy, the client waits and asks again.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Client asks one server. The zero value of a field means its default.
type Client struct {
	URL      string       // address of the server, such as http://127.0.0.1:8080
	Token    string       // bearer token; "" sends none
	Attempts int          // most attempts of a request while the server is busy; 0 means 5
	HTTP     *http.Client // connections; nil means http.DefaultClient

	// Levels are probabilities L and Thresholds are numbers K in the units of the targets. Predictions of a regression
	// then have Quantiles and Above. nil means none.
	Levels, Thresholds []float64
}

// Prediction has the predictions for N rows, in the units of the data: for T targets of a regression,
// or for C classes.
type Prediction struct {
	Version string // version of the model

	Mean      []float64 // means of the targets [N,T]; nil for a classification
	Std       []float64 // standard deviations of the targets, with noise [N,T]; nil for a classification
	LatentStd []float64 // standard deviations of the latent function [N,T]; nil for a classification

	Quantiles []float64 // quantiles of the targets [N,T,L] at the Levels of the Client; nil without levels
	Above     []float64 // probabilities of targets above the Thresholds of the Client [N,T,K]; nil without thresholds

	Class         []string  // most probable classes [N]; nil for a regression
	Probabilities []float64 // class probabilities [N,C]; nil for a regression
	Entropy       []float64 // entropies of the class probabilities in nats [N]; nil for a regression
}

// Error is an answer of the server that is no prediction.
type Error struct {
	Status int    // status of HTTP
	Text   string // message of the server
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("client: the server answers with status %d: %s", e.Status, e.Text)
}

// tensor is an input or output of the protocol.
type tensor struct {
	Name     string          `json:"name"`     // name of the tensor
	Shape    []int           `json:"shape"`    // lengths of the axes
	Datatype string          `json:"datatype"` // FP64 or BYTES
	Data     json.RawMessage `json:"data"`     // elements in row-major order
}

// Rows returns the predictions of a model for rows [N,D], whose columns are in the order of the model.
func (c *Client) Rows(ctx context.Context, model string, rows [][]float64) (*Prediction, error) {
	if len(rows) == 0 {
		return nil, errors.New("client: no rows")
	}
	for i, row := range rows {
		if len(row) != len(rows[0]) {
			return nil, fmt.Errorf("client: row %d (counting from 0) has %d numbers, expected %d as row 0", i, len(row), len(rows[0]))
		}
	}
	data, err := json.Marshal(slices.Concat(rows...))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return c.infer(ctx, model, []tensor{{"x", []int{len(rows), len(rows[0])}, "FP64", data}})
}

// Columns returns the predictions of a model for columns of numbers [N], by their names.
func (c *Client) Columns(ctx context.Context, model string, columns map[string][]float64) (*Prediction, error) {
	return inferColumns(ctx, c, model, "FP64", columns)
}

// Texts returns the predictions of a model for columns of texts [N], by their names. A cell is a word, a
// date or a number as in a file of text, or "" for a missing value.
func (c *Client) Texts(ctx context.Context, model string, columns map[string][]string) (*Prediction, error) {
	return inferColumns(ctx, c, model, "BYTES", columns)
}

// inferColumns sends one tensor for each column and returns the predictions.
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

// outputs returns the outputs to ask for, nil for the usual outputs.
func (c *Client) outputs() (out []map[string]any) {
	if c.Levels == nil && c.Thresholds == nil {
		return nil
	}
	for _, name := range []string{"mean", "std", "latent_std"} {
		out = append(out, map[string]any{"name": name})
	}
	if c.Levels != nil {
		out = append(out, map[string]any{"name": "quantiles", "parameters": map[string]any{"levels": c.Levels}})
	}
	if c.Thresholds != nil {
		out = append(out, map[string]any{"name": "above", "parameters": map[string]any{"thresholds": c.Thresholds}})
	}
	return out
}

// infer sends tensors and returns the predictions in the answer.
func (c *Client) infer(ctx context.Context, model string, in []tensor) (*Prediction, error) {
	request := map[string]any{"inputs": in}
	if out := c.outputs(); out != nil {
		request["outputs"] = out
	}
	body, err := json.Marshal(request)
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
	to := map[string]any{"mean": &p.Mean, "std": &p.Std, "latent_std": &p.LatentStd, "quantiles": &p.Quantiles, "above": &p.Above, "class": &p.Class, "probabilities": &p.Probabilities, "entropy": &p.Entropy}
	for _, t := range out.Outputs {
		if v, known := to[t.Name]; known {
			if err := t.decode(v); err != nil {
				return nil, fmt.Errorf("client: the answer of %s: output %q: %w", address, t.Name, err)
			}
		}
	}
	return p, nil
}

// decode writes the elements to v, a pointer to a slice. A number that is null is NaN.
func (t tensor) decode(v any) error {
	to, ok := v.(*[]float64)
	if !ok {
		return json.Unmarshal(t.Data, v)
	}
	var found []*float64
	err := json.Unmarshal(t.Data, &found)
	for _, f := range found {
		if f == nil {
			f = new(math.NaN())
		}
		*to = append(*to, *f)
	}
	return err
}

// send posts a body, again and again while the server is busy, and returns the answer.
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

// once posts a body and returns the answer. Wait is the time to wait before the next attempt; below 0
// no further attempt makes sense.
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
