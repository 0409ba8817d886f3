//go:build !noasm

#include "textflag.h"

// Registers: R0 dst, R1 bytes between its rows, R2 to R5 the rows of the source, R6 steps
// left.
#define ARGS(shift) \
	MOVD dst+0(FP), R0   \
	MOVD width+8(FP), R1 \
	MOVD r0+16(FP), R2   \
	MOVD r1+24(FP), R3   \
	MOVD r2+32(FP), R4   \
	MOVD r3+40(FP), R5   \
	MOVD k+48(FP), R6    \
	LSL  $shift, R1

// SINGLES copies the last few steps.
#define SINGLES(move, size, lanes) \
tail:                   \
	ADDS $lanes, R6     \
	BEQ  done           \
single:                 \
	move.P size(R2), F0 \
	move.P size(R3), F1 \
	move.P size(R4), F2 \
	move.P size(R5), F3 \
	move F0, (R0)         \
	move F1, (size)(R0)   \
	move F2, (2*size)(R0) \
	move F3, (3*size)(R0) \
	ADD  R1, R0         \
	SUBS $1, R6         \
	BNE  single         \
done:                   \
	RET

// func packCols32(dst *float32, width int, r0, r1, r2, r3 *float32, k int)
TEXT ·packCols32(SB), NOSPLIT, $0-56
	ARGS(2)
	SUBS $4, R6
	BLT  tail

block:
	FMOVQ.P 16(R2), F0
	FMOVQ.P 16(R3), F1
	FMOVQ.P 16(R4), F2
	FMOVQ.P 16(R5), F3
	VZIP1   V2.S4, V0.S4, V4.S4 // of rows 0 and 2, steps 0 and 1
	VZIP2   V2.S4, V0.S4, V5.S4 // steps 2 and 3
	VZIP1   V3.S4, V1.S4, V6.S4 // of rows 1 and 3
	VZIP2   V3.S4, V1.S4, V7.S4
	VZIP1   V6.S4, V4.S4, V0.S4
	VZIP2   V6.S4, V4.S4, V1.S4
	VZIP1   V7.S4, V5.S4, V2.S4
	VZIP2   V7.S4, V5.S4, V3.S4
	FMOVQ   F0, (R0)
	ADD     R1, R0
	FMOVQ   F1, (R0)
	ADD     R1, R0
	FMOVQ   F2, (R0)
	ADD     R1, R0
	FMOVQ   F3, (R0)
	ADD     R1, R0
	SUBS    $4, R6
	BGE     block
	SINGLES(FMOVS, 4, 4)

// func packCols64(dst *float64, width int, r0, r1, r2, r3 *float64, k int)
TEXT ·packCols64(SB), NOSPLIT, $0-56
	ARGS(3)
	SUBS $2, R6
	BLT  tail

block:
	FMOVQ.P 16(R2), F0
	FMOVQ.P 16(R3), F1
	FMOVQ.P 16(R4), F2
	FMOVQ.P 16(R5), F3
	VZIP1   V1.D2, V0.D2, V4.D2
	VZIP1   V3.D2, V2.D2, V5.D2
	VZIP2   V1.D2, V0.D2, V6.D2
	VZIP2   V3.D2, V2.D2, V7.D2
	FSTPQ   (F4, F5), (R0)
	ADD     R1, R0
	FSTPQ   (F6, F7), (R0)
	ADD     R1, R0
	SUBS    $2, R6
	BGE     block
	SINGLES(FMOVD, 8, 2)
