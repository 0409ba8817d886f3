//go:build !noasm

#include "names64_arm64.h"
#include "vector_arm64.h"

// HALVE adds up the pairs that are left in V0.
#define HALVE 

// func arithmetic64(op int, dst, a, b, c *float64, n, rows, stepA, stepB, stepC int)
TEXT ·arithmetic64(SB), NOSPLIT, $0-80
	ARITHMETIC

// func mulAdd64(dst, a, b, c *float64, n int)
TEXT ·mulAdd64(SB), NOSPLIT, $0-40
	MULADD

// func dot64(x, y *float64, n int) float64
TEXT ·dot64(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R0
	MOVD y+8(FP), R1
	MOVD n+16(FP), R2
	DOT
	FMOVD F0, ret+24(FP)
	RET

// func sum64(x *float64, n int) float64
TEXT ·sum64(SB), NOSPLIT, $0-24
	MOVD x+0(FP), R0
	MOVD n+8(FP), R1
	SUM
	FMOVD F0, ret+16(FP)
	RET

// func axpyRows64(y, m *float64, ldm int, x *float64, n int)
TEXT ·axpyRows64(SB), NOSPLIT, $0-40
	MOVD y+0(FP), R0
	MOVD m+8(FP), R1
	MOVD ldm+16(FP), R2
	MOVD x+24(FP), R3
	MOVD n+32(FP), R4
	FLDPQ (R3), (F16, F17)
	AXPY4

// func dots64(x, y *float64, ldy, n int, sums *float64)
TEXT ·dots64(SB), NOSPLIT, $0-40
	DOTS4
	FSTPQ (F0, F2), (R4)
	RET
