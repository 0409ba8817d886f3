package ram

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestFits(t *testing.T) {
	for _, need := range []int64{0, 1, small} {
		if _, ok := Fits(need); !ok {
			t.Errorf("%d bytes do not fit", need)
		}
	}
	for _, need := range []int64{-1, math.MaxInt64 - 1} {
		if left, ok := Fits(need); ok && runtime.GOOS == "linux" {
			t.Errorf("%d bytes fit in %d", need, left)
		}
	}
}

// TestLimit: GOMEMLIMIT bounds what fits.
func TestLimit(t *testing.T) {
	const limit = 300 << 20
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
	if left, ok := Fits(limit); ok || left <= 0 || left >= limit {
		t.Errorf("%d bytes fit: %v; %d are left", limit, ok, left)
	}
	if _, ok := Fits(100 << 20); !ok {
		t.Error("100 MiB do not fit")
	}
}

// TestSystem: a machine that runs tests has some memory, and less than there is.
func TestSystem(t *testing.T) {
	if left := system(); left < small || runtime.GOOS == "linux" && left > 1<<50 {
		t.Errorf("%d bytes are available", left)
	}
}

// TestTaken: the runtime holds at least the bytes that are in use.
func TestTaken(t *testing.T) {
	block := make([]byte, 8<<20)
	if got := Taken(); got < int64(len(block)) {
		t.Errorf("%d bytes are taken, with %d bytes in use", got, len(block))
	}
	runtime.KeepAlive(block)
}
