package gapa

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-valla/valla/gp"
	"github.com/go-valla/valla/gp/gptest"
	"github.com/go-valla/valla/graph"
	"github.com/go-valla/valla/internal/settings"
	"github.com/go-valla/valla/internal/small"
	"github.com/go-valla/valla/layers"
	"gorgonia.org/tensor"
)

// TestBadSettings: what contradicts the problem is named.
func TestBadSettings(t *testing.T) {
	for want, c := range map[string]struct {
		Settings
		classes bool
	}{
		"noise-std 1 with classes":                {Settings{NoiseStd: 1}, true},
		"scale-rows or scale-steps with scales s": {Settings{Options: Options{ScaleRows: 3, Scales: scalesSpread}}, false},
		"neighbours": {Settings{Options: Options{Neighbours: -1}}, false},
	} {
		if f, err := c.Fit(t.Context(), newProblem(t, tensor.Float64, 9, 3, c.classes), gp.Run{}); f != nil || !errors.Is(err, settings.ErrSetting) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	s := Settings{Options: Options{Layer: 3}}
	if _, err := s.Fit(t.Context(), newProblem(t, tensor.Float64, 9, 3, true), gp.Run{}); err == nil || !strings.Contains(err.Error(), "layer 3, expected a number from 1 to 2") {
		t.Errorf("error %v", err)
	}
}

// TestWrongNetworks: a network without a place for the processes, and rows that are all
// alike there.
func TestWrongNetworks(t *testing.T) {
	p := newProblem(t, tensor.Float64, 9, 2, false)
	p.Net = layers.Sequential{layers.NewDense("only", 2, 2, tensor.Float64, rand.New(rand.NewPCG(1, 1))), layers.Activation("tanh")}
	if _, err := new(Settings).Fit(t.Context(), p, gp.Run{}); err == nil || !strings.Contains(err.Error(), "no activation between two of its layers") {
		t.Errorf("error %v", err)
	}
	p = newProblem(t, tensor.Float64, 9, 2, false)
	clear(p.Train.X.Float64s())
	if _, err := new(Settings).Fit(t.Context(), p, gp.Run{}); err == nil || !strings.Contains(err.Error(), "equal values in layer 1") {
		t.Errorf("error %v", err)
	}
}

// TestSites: the places of a residual network are its activations and the mean over all
// places of an image. By default a fit takes this mean.
func TestSites(t *testing.T) {
	net, err := layers.ResNet{Channels: 1, Blocks: []int{1, 1}, Shortcut: layers.Projection, Outputs: 3, Height: 8, Width: 8}.New(tensor.Float64, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := sites(net, []int{1, 8, 8}, tensor.Float64)
	if err != nil {
		t.Fatal(err)
	}
	var widths []int
	for _, s := range all {
		widths = append(widths, s.width())
	}
	if len(widths) != 4 || widths[0] != 16*64 || widths[1] != 16*64 || widths[2] != 32*16 || widths[3] != 32 {
		t.Errorf("places of %d values", widths)
	}
	x := small.Normal(rand.New(rand.NewPCG(2, 1)), tensor.Float64, 6, 1, 8, 8)
	p := gp.Problem{Net: net, Likelihood: newProblem(t, tensor.Float64, 3, 3, false).Likelihood, Train: gp.Examples{X: x, Y: small.Normal(rand.New(rand.NewPCG(3, 1)), tensor.Float64, 6, 3)}}
	for number := range 5 {
		f, q := fitted(t, Settings{Options: Options{Layer: number}}, p)
		if want := number; number > 0 && q.Layer() != want || number == 0 && q.Layer() != 4 {
			t.Errorf("layer %d instead of %d", q.Layer(), want)
		}
		if _, cov := small.Moments(t, q, x); f.Record.Rows != 6 || len(cov) != 6*9 {
			t.Errorf("%d rows, covariances %d", f.Record.Rows, len(cov))
		}
	}
}

// TestMemory: a fit asks for less than it may have, and learns by fewer rows where the memory
// has no room for all.
func TestMemory(t *testing.T) {
	p := newProblem(t, tensor.Float64, 3000, 2, false)
	s := Settings{Options: Options{Layer: 2, ScaleSteps: 1}}
	f := small.Fit(t, &s, p, gp.Run{Memory: 400_000})
	if notes := strings.Join(f.Record.Notes, " "); !strings.Contains(notes, "rows instead of 3000: the memory") {
		t.Errorf("notes %q", notes)
	}
	if _, err := s.Fit(t.Context(), p, gp.Run{Memory: 100_000}); !errors.As(err, new(*graph.MemoryError)) {
		t.Errorf("error %v", err)
	}
}

// TestSpoiledState: numbers that no fit can have are named, and a restored posterior does
// not know which rows it was fitted to.
func TestSpoiledState(t *testing.T) {
	p := newProblem(t, tensor.Float32, 9, 2, true)
	_, q := fitted(t, Settings{Options: Options{Centres: 3}}, p)
	state, err := q.State()
	if err != nil {
		t.Fatal(err)
	}
	good := state.Header.(header)
	for want, spoil := range map[string]func(h *header){
		"":                             func(*header) {},
		"layer 0, 9 rows":              func(h *header) { h.Layer = 0 },
		"layer 7, expected":            func(h *header) { h.Layer = 7 },
		"inputs of shape [-2]":         func(h *header) { h.Inputs = []int{-2} },
		"10 centres among 9 rows":      func(h *header) { h.Centres = 10 },
		"factor -1":                    func(h *header) { h.Factor = -1 },
		"length-scale 0":               func(h *header) { h.Length = 0 },
		`"gapa.values" holds float32`:  func(h *header) { h.Cached = 8 },
		"shapes (1, 3) and (2, 7) do ": func(h *header) { h.Inputs = []int{3} },
	} {
		state.Header = good
		h := good
		spoil(&h)
		state.Header = h
		m, err := gptest.Memory(state)
		if err != nil {
			t.Fatal(err)
		}
		r, err := restore(t.Context(), p.Net, p.Likelihood, m)
		if want == "" && err == nil {
			if err := r.(*posterior).LeftOut(t.Context(), p.Train.X, nil); err == nil {
				t.Error("a restored posterior knows its rows")
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestEndOfNoises(t *testing.T) {
	o := Options{ScaleSteps: 2, Factor: 1e-6}
	small.EndOfNoises(t, newProblem(t, tensor.Float64, 60, 1, false), &Settings{Options: o}, &Settings{Options: o, NoiseStd: 1})
}
