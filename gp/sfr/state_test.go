package sfr

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestSpoiledHeader: what no fit can have written is named.
func TestSpoiledHeader(t *testing.T) {
	p := small.Problem(t, 7, tensor.Float64, 20, 4, 2, true)
	q := fitted(t, p, Settings{PriorStd: 1, Clip: 0.01}, firstRows(p, 5))
	state, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	m, err := gptest.Memory(state)
	if err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(h *header){
		"0 points of 2 outputs":            func(h *header) { h.Points = 0 },
		"5 points of -2 outputs":           func(h *header) { h.Outputs = -2 },
		"4611686018427387904 points":       func(h *header) { h.Points = 1 << 62 },
		"inputs of shape []":               func(h *header) { h.Inputs = nil },
		"inputs of shape [-2]":             func(h *header) { h.Inputs = []int{-2} },
		"inputs of shape [7]":              func(h *header) { h.Inputs = []int{7} },
		"outputs of shape (1, 2), expect":  func(h *header) { h.Outputs = 3 },
		"prior standard deviation -1":      func(h *header) { h.PriorStd = -1 },
		"clip 0.5":                         func(h *header) { h.Clip = 0.5 },
		"sfr.z":                            func(h *header) { h.Points = 6 },
		"sfr.t":                            func(h *header) { h.Joint = true },
		"a network without parameters has": nil,
	} {
		net, of := p.Net, m.Clone()
		if spoil == nil {
			net = layers.Sequential{layers.Activation("tanh")}
		} else {
			h := state.Header.(header)
			spoil(&h)
			if of.JSON, err = json.Marshal(h); err != nil {
				t.Fatal(err)
			}
		}
		r, err := restore(t.Context(), net, p.Likelihood, of)
		if err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
