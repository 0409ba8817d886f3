package valla

import (
	"context"
	"errors"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
)

// TestEstimate: it grows with the steps, leaves the settings alone, and ends with the context.
func TestEstimate(t *testing.T) {
	problems, err := gptest.Problems()
	if err != nil {
		t.Fatal(err)
	}
	for _, optimizer := range []string{"natural", "adam"} {
		for _, p := range problems[:3] {
			few, many := &Settings{Inducing: 5, Iterations: 10, Optimizer: optimizer}, &Settings{Inducing: 5, Iterations: 10_000_000, Optimizer: optimizer}
			a, err := few.Estimate(t.Context(), p.Problem, gp.Run{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := many.Estimate(t.Context(), p.Problem, gp.Run{})
			if err != nil || !(a.Seconds > 0 && b.Seconds > 10*a.Seconds) || a.Bytes < 1000 || a.Cheaper != "" || b.Cheaper == "" || b.CheaperSeconds >= b.Seconds/2 || few.Iterations != 10 {
				t.Errorf("%s, %s: %+v and %+v, error %v", p.Name, optimizer, a, b, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := few.Estimate(ended, p.Problem, gp.Run{}); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %s: error %v", p.Name, optimizer, err)
			}
		}
	}
}
