//go:build !noasm && (amd64 || arm64)

package kernel

// pause tells the processor that the thread waits, which makes another thread on the same core faster.
func pause()
