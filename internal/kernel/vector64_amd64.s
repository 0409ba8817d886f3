//go:build !noasm

#include "names64_amd64.h"
#include "vector_amd64.h"

// func arithmetic64(op int, dst, a, b, c *float64, n, rows, stepA, stepB, stepC int)
TEXT ·arithmetic64(SB), NOSPLIT, $0-80
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

// func symv64AVX2(x, y, m *float64, ldm int, c *float64, n int, sums *float64)
TEXT ·symv64AVX2(SB), NOSPLIT, $0-56
	SYMV4
	VHADDPD    Y1, Y0, Y0
	VHADDPD    Y3, Y2, Y2
	VPERM2F128 $0x20, Y2, Y0, Y4
	VPERM2F128 $0x31, Y2, Y0, Y5
	VADDPD     Y5, Y4, Y4
	VMOVUPD    Y4, (DI)
	VZEROUPPER
	RET

// func poles64AVX2(z, p *float64, x float64, n int) (sum, squares float64)
TEXT ·poles64AVX2(SB), NOSPLIT, $0-48
	MOVQ         z+0(FP), SI
	MOVQ         p+8(FP), DX
	VBROADCASTSD x+16(FP), Y15
	MOVQ         n+24(FP), CX
	CLEAR4(Y0, Y1, Y2, Y3)
	SUBQ         $8, CX
	JLT          rest

two:
	VMOVUPD     (SI), Y4
	VMOVUPD     32(SI), Y6
	VMOVUPD     (DX), Y5
	VMOVUPD     32(DX), Y7
	VSUBPD      Y15, Y5, Y5
	VSUBPD      Y15, Y7, Y7
	VDIVPD      Y5, Y4, Y5
	VDIVPD      Y7, Y6, Y7
	VFMADD231PD Y5, Y4, Y0
	VFMADD231PD Y5, Y5, Y1
	VFMADD231PD Y7, Y6, Y2
	VFMADD231PD Y7, Y7, Y3
	ADDQ        $64, SI
	ADDQ        $64, DX
	SUBQ        $8, CX
	JGE         two

rest:
	ADDQ        $4, CX
	JLT         sums
	VMOVUPD     (SI), Y4
	VMOVUPD     (DX), Y5
	VSUBPD      Y15, Y5, Y5
	VDIVPD      Y5, Y4, Y5
	VFMADD231PD Y5, Y4, Y0
	VFMADD231PD Y5, Y5, Y1

sums:
	VADDPD       Y2, Y0, Y0
	VADDPD       Y3, Y1, Y1
	VHADDPD      Y1, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VMOVSD       X0, sum+32(FP)
	VUNPCKHPD    X0, X0, X0
	VMOVSD       X0, squares+40(FP)
	VZEROUPPER
	RET
