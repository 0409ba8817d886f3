//go:build !linux

package bench

import (
	"errors"
	"time"
)

// threadClock is for Linux alone.
func threadClock() (time.Duration, error) {
	return 0, errors.New("--cpu: expected Linux, whose threads tell their CPU time")
}

// processClock is for Linux alone, too.
func processClock() (time.Duration, error) { return threadClock() }
