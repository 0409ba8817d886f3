//go:build !noasm

#include "textflag.h"

// Registers: DI dst, SI even, DX odd, R13 to R15 the same within a row, R9, R8
// and R11 bytes between their rows, R12 rows left, R10 whole blocks in a row, CX
// those left. Y12 and Y13 select the rest of a row, of BX bytes.
#define ARGS \
	MOVQ    dst+0(FP), DI         \
	MOVQ    even+8(FP), SI        \
	MOVQ    odd+16(FP), DX        \
	MOVQ    ldd+24(FP), R9        \
	MOVQ    lde+32(FP), R8        \
	MOVQ    ldo+40(FP), R11       \
	MOVQ    rows+48(FP), R12      \
	MOVQ    width+56(FP), BX      \
	MOVQ    BX, R10               \
	SHRQ    $6, R10               \
	ANDQ    $63, BX               \
	LEAQ    ·laneMask+128(SB), AX \
	SUBQ    BX, AX                \
	VMOVDQU (AX), Y12             \
	VMOVDQU 32(AX), Y13

// MERGE makes 64 bytes, Y4 and Y5.
#define MERGE(LOW, HIGH) \
	VMOVUPS    (R14), Y0           \
	VMOVUPS    (R15), Y1           \
	LOW        Y1, Y0, Y2          \
	HIGH       Y1, Y0, Y3          \
	VPERM2F128 $0x20, Y3, Y2, Y4   \
	VPERM2F128 $0x31, Y3, Y2, Y5

// ZIP asks for rows ahead, because the result is often not in a cache.
#define ZIP(LOW, HIGH) \
	ARGS                         \
row:                             \
	MOVQ       DI, R13           \
	MOVQ       SI, R14           \
	MOVQ       DX, R15           \
	MOVQ       R10, CX           \
	TESTQ      CX, CX            \
	JEQ        rest              \
block:                           \
	PREFETCHT0 2048(R13)         \
	MERGE(LOW, HIGH)             \
	VMOVUPS    Y4, (R13)         \
	VMOVUPS    Y5, 32(R13)       \
	ADDQ       $64, R13          \
	ADDQ       $32, R14          \
	ADDQ       $32, R15          \
	DECQ       CX                \
	JNZ        block             \
rest:                            \
	TESTQ      BX, BX            \
	JEQ        next              \
	MERGE(LOW, HIGH)             \
	VMASKMOVPS Y4, Y12, (R13)    \
	VMASKMOVPS Y5, Y13, 32(R13)  \
next:                            \
	ADDQ       R9, DI            \
	ADDQ       R8, SI            \
	ADDQ       R11, DX           \
	DECQ       R12               \
	JNZ        row               \
	VZEROUPPER                   \
	RET

// func zip32(dst, even, odd *float32, ldd, lde, ldo, rows, width int)
TEXT ·zip32(SB), NOSPLIT, $0-64
	ZIP(VUNPCKLPS, VUNPCKHPS)

// func zip64(dst, even, odd *float64, ldd, lde, ldo, rows, width int)
TEXT ·zip64(SB), NOSPLIT, $0-64
	ZIP(VUNPCKLPD, VUNPCKHPD)
