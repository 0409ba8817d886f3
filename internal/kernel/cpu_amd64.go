//go:build !noasm

package kernel

import "golang.org/x/sys/cpu"

const (
	avx2   = none + 1 // AVX2, FMA, BMI2
	avx512 = none + 2 // also AVX-512 F, DQ, BW, VL
)

var levels = [...]string{"none", "AVX2", "AVX-512"}

// simd is the level in use. The environment variable GODEBUG=cpu.avx512f=off, or
// cpu.avx2=off, lowers it.
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
