package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadClock returns the CPU time of the thread that calls it.
func threadClock() (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err
}
