package gp_test

import (
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/internal/fixture"
)

func TestLogSpaced(t *testing.T) {
	fixture.Close(t, "five", gp.LogSpaced(0.01, 100, 5), []float64{0.01, 0.1, 1, 10, 100}, 1e-14)
	fixture.Close(t, "one", gp.LogSpaced(0.5, 100, 1), []float64{0.5}, 0)
}
