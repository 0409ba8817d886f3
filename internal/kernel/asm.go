//go:build !noasm && (amd64 || arm64)

package kernel

import "unsafe"

// level is a set of processor instructions that the assembly uses. The lowest is none; its
// values and the variable simd, which is the level in use, depend on the processor.
type level int

const none level = 0

// Assembly names the processor instructions that the assembly in use has: "AVX2", "AVX-512"
// or "NEON"; "none" where the plain Go loops compute everything.
func Assembly() string { return levels[simd] }

// flag returns 1 if set is true and 0 otherwise, as the assembly takes it.
func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

// f32 and f64 convert the address of an element to its concrete type, which the caller
// knows from sizeOf.
func f32[T Float](x *T) *float32 { return (*float32)(unsafe.Pointer(x)) }
func f64[T Float](x *T) *float64 { return (*float64)(unsafe.Pointer(x)) }
