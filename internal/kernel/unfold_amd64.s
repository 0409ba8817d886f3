//go:build !noasm

#include "textflag.h"

// Registers: BX the arguments, DI and SI the next row of dst and src, R9 and R8
// the bytes between rows, CX rows left, R10 channels left, R11 and R12 the first
// row of the channel. Y12 to Y15 select the pixels, Y7 is zero.

#define ARGS \
	MOVQ    u+0(FP), BX           \
	MOVQ    0(BX), DI             \
	MOVQ    8(BX), SI             \
	ADDQ    16(BX), SI            \
	MOVQ    24(BX), R9            \
	MOVQ    32(BX), R8            \
	MOVQ    88(BX), R10           \
	LEAQ    ·laneMask+128(SB), AX \
	MOVQ    AX, DX                \
	SUBQ    64(BX), AX            \
	SUBQ    72(BX), DX            \
	VMOVDQU (AX), Y8              \
	VMOVDQU 32(AX), Y9            \
	VMOVDQU 64(AX), Y10           \
	VMOVDQU 96(AX), Y11           \
	VPANDN  (DX), Y8, Y12         \
	VPANDN  32(DX), Y9, Y13       \
	VPANDN  64(DX), Y10, Y14      \
	VPANDN  96(DX), Y11, Y15      \
	VPXOR   Y7, Y7, Y7

// CHANNELS copies all channels: ZERO and COPY write one row.
#define CHANNELS(channel, top, topdone, row, rowdone, bottom, bottomdone, ZERO, COPY) \
channel:                \
	MOVQ  DI, R11       \
	MOVQ  SI, R12       \
	MOVQ  40(BX), CX    \
	TESTQ CX, CX        \
	JEQ   topdone       \
top:                    \
	ZERO                \
	ADDQ  R9, DI        \
	DECQ  CX            \
	JNZ   top           \
topdone:                \
	MOVQ  48(BX), CX    \
	TESTQ CX, CX        \
	JEQ   rowdone       \
row:                    \
	COPY                \
	ADDQ  R8, SI        \
	ADDQ  R9, DI        \
	DECQ  CX            \
	JNZ   row           \
rowdone:                \
	MOVQ  56(BX), CX    \
	TESTQ CX, CX        \
	JEQ   bottomdone    \
bottom:                 \
	ZERO                \
	ADDQ  R9, DI        \
	DECQ  CX            \
	JNZ   bottom        \
bottomdone:             \
	MOVQ  R11, DI       \
	MOVQ  R12, SI       \
	ADDQ  96(BX), DI    \
	ADDQ  104(BX), SI   \
	DECQ  R10           \
	JNZ   channel       \
	VZEROUPPER          \
	RET

#define ZERO1 VMOVUPS Y7, (DI)
#define ZERO2 ZERO1 \
	VMOVUPS Y7, 32(DI)
#define ZERO3 ZERO2 \
	VMOVUPS Y7, 64(DI)
#define ZERO4 ZERO3 \
	VMOVUPS Y7, 96(DI)

#define COPY1 \
	VMASKMOVPS (SI), Y12, Y0 \
	VMOVUPS    Y0, (DI)
#define COPY2 COPY1 \
	VMASKMOVPS 32(SI), Y13, Y1 \
	VMOVUPS    Y1, 32(DI)
#define COPY3 COPY2 \
	VMASKMOVPS 64(SI), Y14, Y2 \
	VMOVUPS    Y2, 64(DI)
#define COPY4 COPY3 \
	VMASKMOVPS 96(SI), Y15, Y3 \
	VMOVUPS    Y3, 96(DI)

#define LOAD4 \
	VMASKMOVPS (SI), Y12, Y0   \
	VMASKMOVPS 32(SI), Y13, Y1 \
	VMASKMOVPS 64(SI), Y14, Y2 \
	VMASKMOVPS 96(SI), Y15, Y3

// The even elements are in the order 0 2 8 10, 4 6 12 14, or 0 4, 2 6, before
// their quarters are exchanged.
#define HALVE32 \
	LOAD4                        \
	VSHUFPS $0x88, Y1, Y0, Y0    \
	VSHUFPS $0x88, Y3, Y2, Y2    \
	VPERMPD $0xD8, Y0, Y0        \
	VPERMPD $0xD8, Y2, Y2        \
	VMOVUPS Y0, (DI)             \
	VMOVUPS Y2, 32(DI)

#define HALVE64 \
	LOAD4                    \
	VUNPCKLPD Y1, Y0, Y0     \
	VUNPCKLPD Y3, Y2, Y2     \
	VPERMPD   $0xD8, Y0, Y0  \
	VPERMPD   $0xD8, Y2, Y2  \
	VMOVUPS   Y0, (DI)       \
	VMOVUPS   Y2, 32(DI)

// func unfoldAVX2(u *unfolding)
TEXT ·unfoldAVX2(SB), NOSPLIT, $0-8
	ARGS
	MOVQ 80(BX), DX
	CMPQ DX, $2
	JLT  channel1
	JEQ  channel2
	CMPQ DX, $3
	JEQ  channel3
	CHANNELS(channel4, top4, topdone4, row4, rowdone4, bottom4, bottomdone4, ZERO4, COPY4)
	CHANNELS(channel3, top3, topdone3, row3, rowdone3, bottom3, bottomdone3, ZERO3, COPY3)
	CHANNELS(channel2, top2, topdone2, row2, rowdone2, bottom2, bottomdone2, ZERO2, COPY2)
	CHANNELS(channel1, top1, topdone1, row1, rowdone1, bottom1, bottomdone1, ZERO1, COPY1)

// func unfoldHalf32AVX2(u *unfolding)
TEXT ·unfoldHalf32AVX2(SB), NOSPLIT, $0-8
	ARGS
	CHANNELS(channel, top, topdone, row, rowdone, bottom, bottomdone, ZERO2, HALVE32)

// func unfoldHalf64AVX2(u *unfolding)
TEXT ·unfoldHalf64AVX2(SB), NOSPLIT, $0-8
	ARGS
	CHANNELS(channel, top, topdone, row, rowdone, bottom, bottomdone, ZERO2, HALVE64)
