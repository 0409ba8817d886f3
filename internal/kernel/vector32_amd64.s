//go:build !noasm

#include "names32_amd64.h"
#include "vector_amd64.h"

// func arithmetic32(op int, dst, a, b, c *float32, n, rows, stepA, stepB, stepC int)
TEXT ·arithmetic32(SB), NOSPLIT, $0-80
	ARITHMETIC

// func mulAdd32(dst, a, b, c *float32, n int)
TEXT ·mulAdd32(SB), NOSPLIT, $0-40
	MULADD

// func dot32(x, y *float32, n int) float32
TEXT ·dot32(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DX
	MOVQ n+16(FP), CX
	DOT
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VHADDPS      X0, X0, X0
	VHADDPS      X0, X0, X0
	VMOVSS       X0, ret+24(FP)
	VZEROUPPER
	RET

// func sum32(x *float32, n int) float32
TEXT ·sum32(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	SUM
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VHADDPS      X0, X0, X0
	VHADDPS      X0, X0, X0
	VMOVSS       X0, ret+16(FP)
	VZEROUPPER
	RET

// func axpyRows32(y, m *float32, ldm int, x *float32, n int)
TEXT ·axpyRows32(SB), NOSPLIT, $0-40
	AXPY4

// func dots32(x, y *float32, ldy, n int, sums *float32)
TEXT ·dots32(SB), NOSPLIT, $0-40
	DOTS4
	VHADDPS      Y1, Y0, Y0
	VHADDPS      Y3, Y2, Y2
	VHADDPS      Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPS       X1, X0, X0
	VMOVUPS      X0, (DI)
	VZEROUPPER
	RET
