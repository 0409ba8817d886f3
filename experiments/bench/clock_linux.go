package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadClock returns the CPU time of the thread that calls it.
func threadClock() (time.Duration, error) { return read(unix.CLOCK_THREAD_CPUTIME_ID) }

// processClock returns the CPU time of all threads.
func processClock() (time.Duration, error) { return read(unix.CLOCK_PROCESS_CPUTIME_ID) }

func read(id int32) (time.Duration, error) {
	var t unix.Timespec
	err := unix.ClockGettime(id, &t)
	return time.Duration(t.Nano()), err
}
