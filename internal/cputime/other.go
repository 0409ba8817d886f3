//go:build !unix

package cputime

import "runtime/metrics"

// Seconds is the processor time of Go code so far, as the runtime estimates it.
func Seconds() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}
