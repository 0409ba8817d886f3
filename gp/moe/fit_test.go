package moe

import (
	"context"
	"errors"
	"testing"
)

// A fit whose context ends while the last experts are fitted beside each other ends with the context's error.
func TestEndedBesideTheLast(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := eachExpert(ctx, 1, func(int) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, expected the context's", err)
	}
}
