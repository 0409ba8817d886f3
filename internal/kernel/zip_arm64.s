//go:build !noasm

#include "textflag.h"

// Registers: R0 dst, R1 even, R2 odd, R3 to R5 bytes between their rows, R6 rows left, R7
// bytes in a row; R8 to R11 are R0, R1, R2 and R7 within a row.
#define ZIP(load, size, T) \
	MOVD dst+0(FP), R0       \
	MOVD even+8(FP), R1      \
	MOVD odd+16(FP), R2      \
	MOVD ldd+24(FP), R3      \
	MOVD lde+32(FP), R4      \
	MOVD ldo+40(FP), R5      \
	MOVD rows+48(FP), R6     \
	MOVD width+56(FP), R7    \
row:                         \
	MOVD R0, R8              \
	MOVD R1, R9              \
	MOVD R2, R10             \
	SUBS $32, R7, R11        \
	BLT  rest                \
block:                       \
	FMOVQ.P 16(R9), F0       \
	FMOVQ.P 16(R10), F1      \
	VZIP1 V1.T, V0.T, V2.T   \
	VZIP2 V1.T, V0.T, V3.T   \
	FSTPQ.P (F2, F3), 32(R8) \
	SUBS $32, R11            \
	BGE  block               \
rest:                        \
	ADDS $32, R11            \
	BEQ  next                \
single:                      \
	load.P size(R9), F0      \
	load.P F0, size(R8)      \
	SUBS $size, R11          \
	BEQ  next                \
	load.P size(R10), F1     \
	load.P F1, size(R8)      \
	SUBS $size, R11          \
	BNE  single              \
next:                        \
	ADD  R3, R0              \
	ADD  R4, R1              \
	ADD  R5, R2              \
	SUBS $1, R6              \
	BNE  row                 \
	RET

// func zip32(dst, even, odd *float32, ldd, lde, ldo, rows, width int)
TEXT ·zip32(SB), NOSPLIT, $0-64
	ZIP(FMOVS, 4, S4)

// func zip64(dst, even, odd *float64, ldd, lde, ldo, rows, width int)
TEXT ·zip64(SB), NOSPLIT, $0-64
	ZIP(FMOVD, 8, D2)
