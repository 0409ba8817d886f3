//go:build !noasm

#include "textflag.h"

#define LANES 4
#define SHIFT 3
#define EXPONENT 52
#define CONSTANTS ·constants64(SB)
#define MOV VMOVUPD
#define BCAST VBROADCASTSD
#define MASKMOV VMASKMOVPD
#define ADD VADDPD
#define SUB VSUBPD
#define MUL VMULPD
#define DIV VDIVPD
#define SQRT VSQRTPD
#define MIN VMINPD
#define MAX VMAXPD
#define AND VANDPD
#define ANDN VANDNPD
#define OR VORPD
#define XOR VXORPD
#define CMP VCMPPD
#define BLEND VBLENDVPD
#define FMA213 VFMADD213PD
#define FMA231 VFMADD231PD
#define FNMA231 VFNMADD231PD
#define FMS213 VFMSUB213PD
#define IADD VPADDQ
#define SHL VPSLLQ
#define SHR VPSRLQ

// EXPPOLY computes q(r), r in Y0, in Y2 by Horner's rule.
#define EXPPOLY \
	MOV EXPC(10), Y2 \
	FMA213 EXPC(9), Y0, Y2 \
	FMA213 EXPC(8), Y0, Y2 \
	FMA213 EXPC(7), Y0, Y2 \
	FMA213 EXPC(6), Y0, Y2 \
	FMA213 EXPC(5), Y0, Y2 \
	FMA213 EXPC(4), Y0, Y2 \
	FMA213 EXPC(3), Y0, Y2 \
	FMA213 EXPC(2), Y0, Y2 \
	FMA213 EXPC(1), Y0, Y2 \
	FMA213 EXPC(0), Y0, Y2

// LOGPOLY computes L(s²), s² in Y3, in Y4.
#define LOGPOLY \
	MOV LOGC(7), Y4 \
	FMA213 LOGC(6), Y3, Y4 \
	FMA213 LOGC(5), Y3, Y4 \
	FMA213 LOGC(4), Y3, Y4 \
	FMA213 LOGC(3), Y3, Y4 \
	FMA213 LOGC(2), Y3, Y4 \
	FMA213 LOGC(1), Y3, Y4 \
	FMA213 LOGC(0), Y3, Y4

#include "vector_amd64.h"

// func exp64AVX2(dst, src *float64, n int)
TEXT ·exp64AVX2(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh64AVX2(dst, src *float64, n int)
TEXT ·tanh64AVX2(SB), NOSPLIT, $0-24
	UNARY(TANHBODY)

// func sigmoid64AVX2(dst, src *float64, n int)
TEXT ·sigmoid64AVX2(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log64AVX2(dst, src *float64, n int)
TEXT ·log64AVX2(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus64AVX2(dst, src *float64, n int)
TEXT ·softplus64AVX2(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)

// func arithmetic64AVX2(op int, dst, a, b, c *float64, n int)
TEXT ·arithmetic64AVX2(SB), NOSPLIT, $0-48
	ARITHMETIC

// func mulAdd64AVX2(dst, a, b, c *float64, n int)
TEXT ·mulAdd64AVX2(SB), NOSPLIT, $0-40
	MULADD

// func dot64AVX2(x, y *float64, n int) float64
TEXT ·dot64AVX2(SB), NOSPLIT, $0-32
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

// func sum64AVX2(x *float64, n int) float64
TEXT ·sum64AVX2(SB), NOSPLIT, $0-24
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	SUM
	VEXTRACTF128 $1, Y0, X1
	VADDPD       X1, X0, X0
	VHADDPD      X0, X0, X0
	VMOVSD       X0, ret+16(FP)
	VZEROUPPER
	RET

// func axpyRows64AVX2(y, m *float64, ldm int, x *float64, n int)
TEXT ·axpyRows64AVX2(SB), NOSPLIT, $0-40
	AXPY4
