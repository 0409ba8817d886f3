//go:build !noasm

#include "names64_amd64.h"
#include "vector_amd64.h"

// func arithmetic64(op int, dst, a, b, c *float64, n int)
TEXT ·arithmetic64(SB), NOSPLIT, $0-48
	ARITHMETIC

// func mulAdd64(dst, a, b, c *float64, n int)
TEXT ·mulAdd64(SB), NOSPLIT, $0-40
	MULADD

// func dot64(x, y *float64, n int) float64
TEXT ·dot64(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DX
	MOVQ n+16(FP), CX
	DOT
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, ret+24(FP)
	VZEROUPPER
	RET

// func sum64(x *float64, n int) float64
TEXT ·sum64(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	SUM
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, ret+16(FP)
	VZEROUPPER
	RET

// func axpyRows64(y, m *float64, ldm int, x *float64, n int)
TEXT ·axpyRows64(SB), NOSPLIT, $0-40
	AXPY4

// func dots64(x, y *float64, ldy, n int, sums *float64)
TEXT ·dots64(SB), NOSPLIT, $0-40
	DOTS4
	VHADDPD    Y1, Y0, Y0
	VHADDPD    Y3, Y2, Y2
	VPERM2F128 $0x20, Y2, Y0, Y4
	VPERM2F128 $0x31, Y2, Y0, Y5
	VADDPD     Y5, Y4, Y4
	VMOVUPD    Y4, (DI)
	VZEROUPPER
	RET
