//go:build !noasm && (amd64 || arm64)

package kernel

import "unsafe"

// level is a set of processor instructions that the assembly uses. The lowest level is none. The other
// levels, and the level in use, simd, depend on the processor.
type level int

const none level = 0

// Assembly returns the name of the processor instructions that the assembly in use has, "AVX2",
// "AVX-512" or "NEON". It returns "none" where the plain Go loops compute everything.
func Assembly() string { return levels[simd] }

// flag returns 1 if set is true and 0 otherwise, as the assembly takes it.
func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// f32 and f64 convert the address of an element to the element's type, which the caller
// knows from sizeOf.
func f32[T Float](x *T) *float32 { return (*float32)(unsafe.Pointer(x)) }
func f64[T Float](x *T) *float64 { return (*float64)(unsafe.Pointer(x)) }
