package calibrate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/go-valla/valla/internal/kernel"
)

// onlineState is an [Online] in a file.
type onlineState struct {
	Level   float64   `json:"level"`
	Alphas  []float64 `json:"alphas"`
	Weights []float64 `json:"weights"`
	Last    []float64 `json:"last"`
	Next    int       `json:"next"`
	Seen    int       `json:"seen"`
	Inside  int       `json:"inside"`
}

// MarshalJSON returns the state, from which [Online.UnmarshalJSON] goes on with the same bits.
func (o *Online) MarshalJSON() ([]byte, error) {
	return json.Marshal(onlineState{o.level, o.alphas[:], o.weights[:], o.last, o.next, o.seen, o.inside})
}

// UnmarshalJSON takes over a state of [Online.MarshalJSON]. A state that cannot be one is an error, and changes nothing.
func (o *Online) UnmarshalJSON(b []byte) error {
	var s onlineState
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return fmt.Errorf("state of intervals that adapt: %w", err)
	}
	*o = Online{level: s.Level, alphas: [len(rates)]float64(s.Alphas), weights: [len(rates)]float64(s.Weights), last: s.Last, next: s.Next, sorted: slices.Sorted(slices.Values(s.Last)), seen: s.Seen, inside: s.Inside}
	return nil
}

// check returns an error if the state cannot be one.
func (s onlineState) check() error {
	outside := func(low, high float64) func(float64) bool {
		return func(v float64) bool { return !(v >= low && v <= high) }
	}
	switch n := len(s.Last); {
	case !(s.Level > 0 && s.Level < 1):
		return fmt.Errorf("level %g, expected a probability between 0 and 1", s.Level)
	case len(s.Alphas) != len(rates) || slices.ContainsFunc(s.Alphas, outside(-1, 1)):
		return fmt.Errorf("error probabilities %v, expected %d from −1 to 1", s.Alphas, len(rates))
	case len(s.Weights) != len(rates) || slices.ContainsFunc(s.Weights, outside(0, 1)) || math.Abs(kernel.Sum(s.Weights)-1) > 1e-6:
		return fmt.Errorf("weights %v, expected %d from 0 to 1, which sum to 1", s.Weights, len(rates))
	case n < 1 || n > onlineWindow || slices.ContainsFunc(s.Last, outside(0, math.MaxFloat64)):
		return fmt.Errorf("%d last scores, expected 1 to %d finite numbers from 0 on", n, onlineWindow)
	case s.Next < 0 || s.Next >= n || s.Inside < 0 || s.Seen < s.Inside:
		return fmt.Errorf("place %d of %d scores, %d of %d inside, expected none below 0 and parts of the whole", s.Next, n, s.Inside, s.Seen)
	}
	return nil
}

// Level returns the level of the intervals.
func (o *Online) Level() float64 { return o.level }
