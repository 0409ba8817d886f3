//go:build !linux

package kernel

import "runtime"

// yield lets another goroutine run.
func yield() { runtime.Gosched() }
