package command

import (
	"context"
	"errors"
	"testing"
)

// TestInterruptible: an interrupt ends a command whose work cannot be interrupted, at once.
func TestInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if v, err := interruptible(ctx, func() (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Errorf("%d, error %v", v, err)
	}
	forever := make(chan int)
	if _, err := interruptible(ctx, func() (int, error) { cancel(); return <-forever, nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
