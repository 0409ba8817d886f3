package serve

import (
	"errors"
	"testing"

	"github.com/go-valla/valla/client"
)

// TestClient: the client gets the model's predictions from a real server.
func TestClient(t *testing.T) {
	r := start(t, func(o *Options) { o.Tokens = []string{"secret"} })
	c := &client.Client{URL: r.url, Token: "secret"}
	p, err := c.Rows(t.Context(), "pairs", [][]float64{{0.5, 90}, {-1, 130}})
	if err != nil {
		t.Fatal(err)
	}
	want := r.predicted("pairs", 0.5, 90, -1, 130)
	same(t, "mean", p.Mean, want.Mean)
	same(t, "std", p.Std, want.Std())
	same(t, "latent_std", p.LatentStd, want.LatentStd())
	if p, err = c.Columns(t.Context(), "classes", map[string][]float64{"b": {90, 130}, "a": {0.5, -1}}); err != nil {
		t.Fatal(err)
	}
	same(t, "probabilities", p.Probabilities, r.predicted("classes", 0.5, 90, -1, 130).Probs)
	if len(p.Class) != 2 || len(p.Entropy) != 2 || p.Mean != nil {
		t.Errorf("prediction %+v", p)
	}
	var refused *client.Error
	if _, err := c.Rows(t.Context(), "pairs", [][]float64{{1}}); !errors.As(err, &refused) || refused.Status != 400 {
		t.Errorf("error %v", err)
	}
}

// TestClientQuantiles: a client that asks for quantiles and probabilities above a number gets both beside the mean.
func TestClientQuantiles(t *testing.T) {
	r := start(t, nil, "numbers")
	p := r.predicted("numbers", 0.5, 90)
	c := &client.Client{URL: r.url, Levels: []float64{0.05, 0.5}, Thresholds: []float64{4}}
	got, err := c.Rows(t.Context(), "numbers", [][]float64{{0.5, 90}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "mean", got.Mean, p.Mean)
	same(t, "quantiles", got.Quantiles, []float64{p.Quantiles(0.05)[0], p.Quantiles(0.5)[0]})
	same(t, "above", got.Above, p.Above(4))
}
