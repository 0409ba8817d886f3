//go:build !noasm && (amd64 || arm64)

package kernel

import "testing"

// everyLevel runs a test with every set of instructions this machine has.
func everyLevel(t *testing.T, f func(t *testing.T)) {
	best := simd
	defer func() { simd = best }()
	for simd = none; simd <= best; simd++ {
		t.Run(Assembly(), f)
	}
}
