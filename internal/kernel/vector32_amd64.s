//go:build !noasm

#include "textflag.h"

#define LANES 8
#define SHIFT 2
#define EXPONENT 23
#define CONSTANTS ·constants32(SB)
#define MOV VMOVUPS
#define BCAST VBROADCASTSS
#define MASKMOV VMASKMOVPS
#define ADD VADDPS
#define SUB VSUBPS
#define MUL VMULPS
#define DIV VDIVPS
#define SQRT VSQRTPS
#define MIN VMINPS
#define MAX VMAXPS
#define AND VANDPS
#define ANDN VANDNPS
#define OR VORPS
#define XOR VXORPS
#define CMP VCMPPS
#define BLEND VBLENDVPS
#define FMA213 VFMADD213PS
#define FMA231 VFMADD231PS
#define FNMA231 VFNMADD231PS
#define FMS213 VFMSUB213PS
#define IADD VPADDD
#define SHL VPSLLD
#define SHR VPSRLD

// EXPPOLY computes q(r), r in Y0, in Y2 by Horner's rule.
#define EXPPOLY \
	MOV EXPC(5), Y2 \
	FMA213 EXPC(4), Y0, Y2 \
	FMA213 EXPC(3), Y0, Y2 \
	FMA213 EXPC(2), Y0, Y2 \
	FMA213 EXPC(1), Y0, Y2 \
	FMA213 EXPC(0), Y0, Y2

// LOGPOLY computes L(s²), s² in Y3, in Y4.
#define LOGPOLY \
	MOV LOGC(3), Y4 \
	FMA213 LOGC(2), Y3, Y4 \
	FMA213 LOGC(1), Y3, Y4 \
	FMA213 LOGC(0), Y3, Y4

#include "vector_amd64.h"

// func exp32AVX2(dst, src *float32, n int)
TEXT ·exp32AVX2(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh32AVX2(dst, src *float32, n int)
TEXT ·tanh32AVX2(SB), NOSPLIT, $0-24
	UNARY(TANHBODY)

// func sigmoid32AVX2(dst, src *float32, n int)
TEXT ·sigmoid32AVX2(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log32AVX2(dst, src *float32, n int)
TEXT ·log32AVX2(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus32AVX2(dst, src *float32, n int)
TEXT ·softplus32AVX2(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)

// func arithmetic32AVX2(op int, dst, a, b, c *float32, n int)
TEXT ·arithmetic32AVX2(SB), NOSPLIT, $0-48
	ARITHMETIC

// func mulAdd32AVX2(dst, a, b, c *float32, n int)
TEXT ·mulAdd32AVX2(SB), NOSPLIT, $0-40
	MULADD

// func dot32AVX2(x, y *float32, n int) float32
TEXT ·dot32AVX2(SB), NOSPLIT, $0-28
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

// func sum32AVX2(x *float32, n int) float32
TEXT ·sum32AVX2(SB), NOSPLIT, $0-20
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

// func axpyRows32AVX2(y, m *float32, ldm int, x *float32, n int)
TEXT ·axpyRows32AVX2(SB), NOSPLIT, $0-40
	AXPY4
