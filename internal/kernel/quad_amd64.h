// Products of 12 rows with four columns, AVX-512, once for both element types; see names*.h and
// quad.go.
//
// Registers: CX vectors left, SI A, R13 bytes between its rows, DI B, DX C, R9 bytes between rows of
// C, R10 rows. Rows of A are reached by multiples of R13: three in R14, five in R15, seven in BX,
// nine in AX, eleven in R11. Row r is summed in Zr. Z24 holds B, Z26 elements of A.

#include "flush_amd64.h"

#define ROWS12(row) \
	row((SI), Z0) row((SI)(R13*1), Z1)         \
	row((SI)(R13*2), Z2) row((SI)(R14*1), Z3)  \
	row((SI)(R13*4), Z4) row((SI)(R15*1), Z5)  \
	row((SI)(R14*2), Z6) row((SI)(BX*1), Z7)   \
	row((SI)(R13*8), Z8) row((SI)(AX*1), Z9)   \
	row((SI)(R15*2), Z10) row((SI)(R11*1), Z11)

// WHOLE multiplies the elements of A of all steps in a vector, SOME those that K1 selects.
#define WHOLE(a, z) \
	QUARTER a, Z26       \
	FMA231  Z24, Z26, z

#define SOME(a, z) \
	QUARTER.Z a, K1, Z26 \
	FMA231    Z24, Z26, z

#define CLEAR(a, z) \
	VPXORQ z, z, z

// PUT stores one row, which is part of z. K2 selects the columns that exist, K3 those of them that
// are added to.
#define PUT(part, z) \
	EXTRACT $part, z, ROW1   \
	MOV.Z   (DX), K3, ROW2   \
	ADD     ROW2, ROW1, ROW1 \
	MOV     ROW1, K2, (DX)   \
	ADDQ    R9, DX           \
	DECQ    R10              \
	JEQ     done

#define QUAD512 \
	FLUSH                     \
	MOVQ   k+0(FP), CX        \
	MOVQ   a+8(FP), SI        \
	MOVQ   arow+16(FP), R13   \
	MOVQ   b+24(FP), DI       \
	MOVQ   c+32(FP), DX       \
	MOVQ   ldc+40(FP), R9     \
	MOVQ   rows+48(FP), R10   \
	MOVQ   cols+56(FP), BX    \
	MOVQ   $-1, AX            \
	BZHIQ  BX, AX, AX         \
	KMOVW  AX, K2             \
	MOVQ   add+64(FP), BX     \
	NEGQ   BX                 \
	ANDQ   BX, AX             \
	KMOVW  AX, K3             \
	MOVQ   CX, BX             \
	ANDQ   $(16/SIZE-1), BX   \
	MOVQ   $QUARTERS, AX      \
	SHLXQ  BX, AX, R8         \
	SUBQ   AX, R8             \
	KMOVW  R8, K1             \
	SHRQ   $(4-SHIFT), CX     \
	SHLQ   $SHIFT, R9         \
	SHLQ   $SHIFT, R13        \
	LEAQ   (R13)(R13*2), R14  \
	LEAQ   (R13)(R13*4), R15  \
	LEAQ   (R14)(R13*4), BX   \
	LEAQ   (R13)(R13*8), AX   \
	LEAQ   (R14)(R13*8), R11  \
	ROWS12(CLEAR)             \
	TESTQ  CX, CX             \
	JEQ    last               \
	PCALIGN $32               \
loop:                         \
	MOV    (DI), Z24          \
	ROWS12(WHOLE)             \
	ADDQ   $16, SI            \
	ADDQ   $64, DI            \
	DECQ   CX                 \
	JNZ    loop               \
last:                         \
	TESTQ  R8, R8             \
	JEQ    sums               \
	MOV    (DI), Z24          \
	ROWS12(SOME)              \
sums:                         \
	MOV    ORDER, Z27         \
	PUT4(Z0, Z1, Z2, Z3)      \
	PUT4(Z4, Z5, Z6, Z7)      \
	PUT4(Z8, Z9, Z10, Z11)    \
done:                         \
	UNFLUSH                   \
	VZEROUPPER                \
	RET
