//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

// level is a set of processor instructions that the assembly uses.
type level int

const (
	none   level = iota
	avx2         // AVX2, FMA, BMI2
	avx512       // also AVX-512 F, DQ, BW, VL
)

// simd is the level in use.
var simd = detect()

func detect() level {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasBMI2:
		return none
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL:
		return avx512
	}
	return avx2
}

// Assembly names the processor instructions that the assembly in use has: "AVX2" or
// "AVX-512"; "none" where the plain Go loops compute everything.
func Assembly() string { return [...]string{"none", "AVX2", "AVX-512"}[simd] }
