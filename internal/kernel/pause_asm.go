//go:build !noasm && (amd64 || arm64)

package kernel

// pause tells the processor that the thread waits, so that another one on the same core is faster.
func pause()
