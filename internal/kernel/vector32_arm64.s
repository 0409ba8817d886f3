//go:build !noasm

#include "names32_arm64.h"
#include "vector_arm64.h"

// HALVE adds up the pairs that are left in V0.
#define HALVE VFADDP(0, 0, 0)

// func arithmetic32(op int, dst, a, b, c *float32, n, rows, stepA, stepB, stepC int)
TEXT ·arithmetic32(SB), NOSPLIT, $0-80
	ARITHMETIC

// func mulAdd32(dst, a, b, c *float32, n int)
TEXT ·mulAdd32(SB), NOSPLIT, $0-40
	MULADD

// func dot32(x, y *float32, n int) float32
TEXT ·dot32(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R0
	MOVD y+8(FP), R1
	MOVD n+16(FP), R2
	DOT
	FMOVS F0, ret+24(FP)
	RET

// func sum32(x *float32, n int) float32
TEXT ·sum32(SB), NOSPLIT, $0-20
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	SUM
	FMOVS F0, ret+16(FP)
	RET

// func axpyRows32(y, m *float32, ldm int, x *float32, n int)
TEXT ·axpyRows32(SB), NOSPLIT, $0-40
	MOVD y+0(FP), R0
	MOVD m+8(FP), R1
	MOVD ldm+16(FP), R2
	MOVD x+24(FP), R3
	MOVD n+32(FP), R4
	FMOVQ (R3), F16
	AXPY4

// func dots32(x, y *float32, ldy, n int, sums *float32)
TEXT ·dots32(SB), NOSPLIT, $0-40
	DOTS4
	VFADDP(2, 0, 0)
	FMOVQ F0, (R4)
	RET
