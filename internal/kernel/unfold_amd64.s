//go:build !noasm

#include "textflag.h"

// SHIFTARGS makes masks of the bytes from lo to hi in Y12 to Y15.
#define SHIFTARGS \
	MOVQ    dst+0(FP), DI         \
	MOVQ    src+8(FP), SI         \
	ADDQ    offset+16(FP), SI     \
	MOVQ    ldd+24(FP), R9        \
	MOVQ    lds+32(FP), R8        \
	MOVQ    rows+40(FP), CX       \
	LEAQ    ·laneMask+128(SB), AX \
	MOVQ    AX, BX                \
	SUBQ    lo+48(FP), AX         \
	SUBQ    hi+56(FP), BX         \
	VMOVDQU (AX), Y8              \
	VMOVDQU 32(AX), Y9            \
	VMOVDQU 64(AX), Y10           \
	VMOVDQU 96(AX), Y11           \
	VPANDN  (BX), Y8, Y12         \
	VPANDN  32(BX), Y9, Y13       \
	VPANDN  64(BX), Y10, Y14      \
	VPANDN  96(BX), Y11, Y15

#define NEXTROW \
	ADDQ R8, SI \
	ADDQ R9, DI \
	DECQ CX

// func shiftRowsAVX2(dst, src unsafe.Pointer, offset, ldd, lds, rows, lo, hi, vectors int)
TEXT ·shiftRowsAVX2(SB), NOSPLIT, $0-72
	SHIFTARGS
	MOVQ vectors+64(FP), DX
	CMPQ DX, $2
	JLT  one
	JEQ  two
	CMPQ DX, $3
	JEQ  three

four:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMASKMOVPS 64(SI), Y14, Y2
	VMASKMOVPS 96(SI), Y15, Y3
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	VMOVUPS    Y2, 64(DI)
	VMOVUPS    Y3, 96(DI)
	NEXTROW
	JNZ        four
	VZEROUPPER
	RET

three:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMASKMOVPS 64(SI), Y14, Y2
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	VMOVUPS    Y2, 64(DI)
	NEXTROW
	JNZ        three
	VZEROUPPER
	RET

two:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	NEXTROW
	JNZ        two
	VZEROUPPER
	RET

one:
	VMASKMOVPS (SI), Y12, Y0
	VMOVUPS    Y0, (DI)
	NEXTROW
	JNZ        one
	VZEROUPPER
	RET

// func halveRows32AVX2(dst, src unsafe.Pointer, offset, ldd, lds, rows, lo, hi int)
TEXT ·halveRows32AVX2(SB), NOSPLIT, $0-64
	SHIFTARGS

loop:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMASKMOVPS 64(SI), Y14, Y2
	VMASKMOVPS 96(SI), Y15, Y3
	VSHUFPS    $0x88, Y1, Y0, Y0 // elements 0 2 8 10, 4 6 12 14
	VSHUFPS    $0x88, Y3, Y2, Y2
	VPERMPD    $0xD8, Y0, Y0
	VPERMPD    $0xD8, Y2, Y2
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y2, 32(DI)
	NEXTROW
	JNZ        loop
	VZEROUPPER
	RET

// func halveRows64AVX2(dst, src unsafe.Pointer, offset, ldd, lds, rows, lo, hi int)
TEXT ·halveRows64AVX2(SB), NOSPLIT, $0-64
	SHIFTARGS

loop:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMASKMOVPS 64(SI), Y14, Y2
	VMASKMOVPS 96(SI), Y15, Y3
	VUNPCKLPD  Y1, Y0, Y0 // elements 0 4, 2 6
	VUNPCKLPD  Y3, Y2, Y2
	VPERMPD    $0xD8, Y0, Y0
	VPERMPD    $0xD8, Y2, Y2
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y2, 32(DI)
	NEXTROW
	JNZ        loop
	VZEROUPPER
	RET
