//go:build !noasm

#include "textflag.h"

// laneMask is 32 set 32-bit lanes and 32 clear ones: read from byte 128-n on it
// is a mask of the first n bytes.
DATA ·laneMask+0(SB)/8, $-1
DATA ·laneMask+8(SB)/8, $-1
DATA ·laneMask+16(SB)/8, $-1
DATA ·laneMask+24(SB)/8, $-1
DATA ·laneMask+32(SB)/8, $-1
DATA ·laneMask+40(SB)/8, $-1
DATA ·laneMask+48(SB)/8, $-1
DATA ·laneMask+56(SB)/8, $-1
DATA ·laneMask+64(SB)/8, $-1
DATA ·laneMask+72(SB)/8, $-1
DATA ·laneMask+80(SB)/8, $-1
DATA ·laneMask+88(SB)/8, $-1
DATA ·laneMask+96(SB)/8, $-1
DATA ·laneMask+104(SB)/8, $-1
DATA ·laneMask+112(SB)/8, $-1
DATA ·laneMask+120(SB)/8, $-1
GLOBL ·laneMask(SB), RODATA|NOPTR, $256

// func packRowsAVX2(dst, src unsafe.Pointer, ld, k, width, height int)
//
// Copies k rows of height bytes, ld bytes apart, to rows of width bytes filled
// up with zeros. Two, three or four vectors are written per row; with a width
// of 48 the second reaches into the next row, which is written next.
TEXT ·packRowsAVX2(SB), NOSPLIT, $0-48
	MOVQ    dst+0(FP), DI
	MOVQ    src+8(FP), SI
	MOVQ    ld+16(FP), R8
	MOVQ    k+24(FP), CX
	MOVQ    width+32(FP), R9
	MOVQ    height+40(FP), R10
	LEAQ    ·laneMask+128(SB), AX
	SUBQ    R10, AX
	VMOVDQU (AX), Y12
	VMOVDQU 32(AX), Y13
	VMOVDQU 64(AX), Y14
	VMOVDQU 96(AX), Y15
	CMPQ    R9, $64
	JLE     two
	CMPQ    R9, $96
	JLE     three

four:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMASKMOVPS 64(SI), Y14, Y2
	VMASKMOVPS 96(SI), Y15, Y3
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	VMOVUPS    Y2, 64(DI)
	VMOVUPS    Y3, 96(DI)
	ADDQ       R8, SI
	ADDQ       R9, DI
	DECQ       CX
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
	ADDQ       R8, SI
	ADDQ       R9, DI
	DECQ       CX
	JNZ        three
	VZEROUPPER
	RET

two:
	VMASKMOVPS (SI), Y12, Y0
	VMASKMOVPS 32(SI), Y13, Y1
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	ADDQ       R8, SI
	ADDQ       R9, DI
	DECQ       CX
	JNZ        two
	VZEROUPPER
	RET

// func packCols32(dst *float32, width int, r0, r1, r2, r3 *float32, k int)
//
// Interleaves four rows of k elements: element p of row i goes to dst[p*width+i].
TEXT ·packCols32(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ width+8(FP), R8
	MOVQ r0+16(FP), R10
	MOVQ r1+24(FP), R11
	MOVQ r2+32(FP), R12
	MOVQ r3+40(FP), R13
	MOVQ k+48(FP), CX
	SHLQ $2, R8
	LEAQ (R8)(R8*2), R9
	SUBQ $8, CX
	JLT  tail

block:
	VMOVUPS   (R10), Y0
	VMOVUPS   (R11), Y1
	VMOVUPS   (R12), Y2
	VMOVUPS   (R13), Y3
	VUNPCKLPS Y1, Y0, Y4
	VUNPCKHPS Y1, Y0, Y5
	VUNPCKLPS Y3, Y2, Y6
	VUNPCKHPS Y3, Y2, Y7
	VUNPCKLPD Y6, Y4, Y8  // steps 0, 4
	VUNPCKHPD Y6, Y4, Y9  // steps 1, 5
	VUNPCKLPD Y7, Y5, Y10 // steps 2, 6
	VUNPCKHPD Y7, Y5, Y11 // steps 3, 7
	VMOVUPS   X8, (DI)
	VMOVUPS   X9, (DI)(R8*1)
	VMOVUPS   X10, (DI)(R8*2)
	VMOVUPS   X11, (DI)(R9*1)
	LEAQ      (DI)(R8*4), DI
	VEXTRACTF128 $1, Y8, (DI)
	VEXTRACTF128 $1, Y9, (DI)(R8*1)
	VEXTRACTF128 $1, Y10, (DI)(R8*2)
	VEXTRACTF128 $1, Y11, (DI)(R9*1)
	LEAQ      (DI)(R8*4), DI
	ADDQ      $32, R10
	ADDQ      $32, R11
	ADDQ      $32, R12
	ADDQ      $32, R13
	SUBQ      $8, CX
	JGE       block

tail:
	ADDQ $8, CX
	JEQ  done

single:
	MOVL (R10), AX
	MOVL (R11), BX
	MOVL AX, (DI)
	MOVL BX, 4(DI)
	MOVL (R12), AX
	MOVL (R13), BX
	MOVL AX, 8(DI)
	MOVL BX, 12(DI)
	ADDQ $4, R10
	ADDQ $4, R11
	ADDQ $4, R12
	ADDQ $4, R13
	ADDQ R8, DI
	DECQ CX
	JNZ  single

done:
	VZEROUPPER
	RET

// func packCols64(dst *float64, width int, r0, r1, r2, r3 *float64, k int)
//
// Interleaves four rows of k elements: element p of row i goes to dst[p*width+i].
TEXT ·packCols64(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ width+8(FP), R8
	MOVQ r0+16(FP), R10
	MOVQ r1+24(FP), R11
	MOVQ r2+32(FP), R12
	MOVQ r3+40(FP), R13
	MOVQ k+48(FP), CX
	SHLQ $3, R8
	LEAQ (R8)(R8*2), R9
	SUBQ $4, CX
	JLT  tail

block:
	VMOVUPD     (R10), X0             // rows 0 and 2, steps 0, 1
	VMOVUPD     16(R10), X1           // steps 2, 3
	VMOVUPD     (R11), X2             // rows 1 and 3
	VMOVUPD     16(R11), X3
	VINSERTF128 $1, (R12), Y0, Y0
	VINSERTF128 $1, 16(R12), Y1, Y1
	VINSERTF128 $1, (R13), Y2, Y2
	VINSERTF128 $1, 16(R13), Y3, Y3
	VUNPCKLPD   Y2, Y0, Y4            // step 0
	VUNPCKHPD   Y2, Y0, Y5
	VUNPCKLPD   Y3, Y1, Y6
	VUNPCKHPD   Y3, Y1, Y7
	VMOVUPD     Y4, (DI)
	VMOVUPD     Y5, (DI)(R8*1)
	VMOVUPD     Y6, (DI)(R8*2)
	VMOVUPD     Y7, (DI)(R9*1)
	LEAQ       (DI)(R8*4), DI
	ADDQ       $32, R10
	ADDQ       $32, R11
	ADDQ       $32, R12
	ADDQ       $32, R13
	SUBQ       $4, CX
	JGE        block

tail:
	ADDQ $4, CX
	JEQ  done

single:
	MOVQ (R10), AX
	MOVQ (R11), BX
	MOVQ AX, (DI)
	MOVQ BX, 8(DI)
	MOVQ (R12), AX
	MOVQ (R13), BX
	MOVQ AX, 16(DI)
	MOVQ BX, 24(DI)
	ADDQ $8, R10
	ADDQ $8, R11
	ADDQ $8, R12
	ADDQ $8, R13
	ADDQ R8, DI
	DECQ CX
	JNZ  single

done:
	VZEROUPPER
	RET
