// Micro-kernels of products whose factors are found through a table of steps,
// once for both element types; see names*.h.
//
// Registers: CX steps left, R8 the next step, SI A, DI, DX and R9 the three vectors
// of B, AX and R12 where the step finds its row of A and of B, R13 bytes between
// rows of A (R14 three times, R15 five times, BX seven times that), R10 rows, R11
// columns. At the end DX is C, R9 the bytes between its rows.

#include "flush_amd64.h"

#define WINDOWARGS \
	FLUSH                  \
	MOVQ count+0(FP), CX   \
	MOVQ steps+8(FP), R8   \
	MOVQ a+16(FP), SI      \
	MOVQ arow+24(FP), R13  \
	MOVQ b0+32(FP), DI     \
	MOVQ b1+40(FP), DX     \
	MOVQ b2+48(FP), R9     \
	MOVQ rows+72(FP), R10  \
	MOVQ cols+80(FP), R11  \
	SHLQ $SHIFT, R13       \
	LEAQ (R13)(R13*2), R14 \
	LEAQ (R13)(R13*4), R15 \
	LEAQ (R14)(R13*4), BX

#define CARGS \
	MOVQ c+56(FP), DX   \
	MOVQ ldc+64(FP), R9 \
	SHLQ $SHIFT, R9

#define FINDSTEP \
	MOVLQSX (R8), AX         \
	MOVLQSX 4(R8), R12       \
	ADDQ    $8, R8           \
	LEAQ    (SI)(AX*SIZE), AX

#define DISPATCH(one, two, three, four) \
	CMPQ R10, $2 \
	JLT  one     \
	JEQ  two     \
	CMPQ R10, $4 \
	JLT  three   \
	JEQ  four

// AVX-512: up to 8 rows of three vectors. Row r is summed in Z(3r) to Z(3r+2).
// Z24 to Z26 hold B, Z27 an element of A.

#define FMA3(a, x, y, z) \
	BCAST  a, Z27      \
	FMA231 Z24, Z27, x \
	FMA231 Z25, Z27, y \
	FMA231 Z26, Z27, z

#define FMA2(a, x, y) \
	BCAST  a, Z27      \
	FMA231 Z24, Z27, x \
	FMA231 Z25, Z27, y

#define FMA1(a, x) \
	FMA231.BCST a, Z24, x

#define THREE1 FMA3((AX), Z0, Z1, Z2)
#define THREE2 THREE1 FMA3((AX)(R13*1), Z3, Z4, Z5)
#define THREE3 THREE2 FMA3((AX)(R13*2), Z6, Z7, Z8)
#define THREE4 THREE3 FMA3((AX)(R14*1), Z9, Z10, Z11)
#define THREE5 THREE4 FMA3((AX)(R13*4), Z12, Z13, Z14)
#define THREE6 THREE5 FMA3((AX)(R15*1), Z15, Z16, Z17)
#define THREE7 THREE6 FMA3((AX)(R14*2), Z18, Z19, Z20)
#define THREE8 THREE7 FMA3((AX)(BX*1), Z21, Z22, Z23)

#define TWO1 FMA2((AX), Z0, Z1)
#define TWO2 TWO1 FMA2((AX)(R13*1), Z3, Z4)
#define TWO3 TWO2 FMA2((AX)(R13*2), Z6, Z7)
#define TWO4 TWO3 FMA2((AX)(R14*1), Z9, Z10)
#define TWO5 TWO4 FMA2((AX)(R13*4), Z12, Z13)
#define TWO6 TWO5 FMA2((AX)(R15*1), Z15, Z16)
#define TWO7 TWO6 FMA2((AX)(R14*2), Z18, Z19)
#define TWO8 TWO7 FMA2((AX)(BX*1), Z21, Z22)

#define ONE1 FMA1((AX), Z0)
#define ONE2 ONE1 FMA1((AX)(R13*1), Z3)
#define ONE3 ONE2 FMA1((AX)(R13*2), Z6)
#define ONE4 ONE3 FMA1((AX)(R14*1), Z9)
#define ONE5 ONE4 FMA1((AX)(R13*4), Z12)
#define ONE6 ONE5 FMA1((AX)(R15*1), Z15)
#define ONE7 ONE6 FMA1((AX)(R14*2), Z18)
#define ONE8 ONE7 FMA1((AX)(BX*1), Z21)

#define LOOP3(label, rows) \
	PCALIGN $32               \
label:                        \
	FINDSTEP                  \
	MOV  (DI)(R12*SIZE), Z24    \
	MOV  (DX)(R12*SIZE), Z25 \
	MOV  (R9)(R12*SIZE), Z26 \
	rows                      \
	DECQ CX                   \
	JNZ  label                \
	JMP  store

#define LOOP2(label, rows) \
label:                       \
	FINDSTEP                 \
	MOV  (DI)(R12*SIZE), Z24   \
	MOV  (DX)(R12*SIZE), Z25 \
	rows                     \
	DECQ CX                  \
	JNZ  label               \
	JMP  store

#define LOOP1(label, rows) \
label:                     \
	FINDSTEP               \
	MOV  (DI)(R12*SIZE), Z24 \
	rows                   \
	DECQ CX                \
	JNZ  label             \
	JMP  store

#define ZERO3(x, y, z) \
	VPXORQ x, x, x \
	VPXORQ y, y, y \
	VPXORQ z, z, z

// K1 to K3 select the columns that exist.
#define PUT3(x, y, z) \
	MOV  x, K1, (DX)    \
	MOV  y, K2, 64(DX)  \
	MOV  z, K3, 128(DX) \
	ADDQ R9, DX         \
	DECQ R10            \
	JEQ  done

#define ADD3(x, y, z) \
	MOV.Z (DX), K1, Z24    \
	MOV.Z 64(DX), K2, Z25  \
	MOV.Z 128(DX), K3, Z26 \
	ADD   Z24, x, x        \
	ADD   Z25, y, y        \
	ADD   Z26, z, z        \
	PUT3(x, y, z)

#define EIGHTROWS(op) \
	op(Z0, Z1, Z2)    \
	op(Z3, Z4, Z5)    \
	op(Z6, Z7, Z8)    \
	op(Z9, Z10, Z11)  \
	op(Z12, Z13, Z14) \
	op(Z15, Z16, Z17) \
	op(Z18, Z19, Z20) \
	op(Z21, Z22, Z23)

#define WINDOW512 \
	WINDOWARGS                    \
	MOVQ  $-1, AX                 \
	BZHIQ R11, AX, AX             \
	KMOVW AX, K1                  \
	SHRQ  $(64/SIZE), AX          \
	KMOVW AX, K2                  \
	SHRQ  $(64/SIZE), AX          \
	KMOVW AX, K3                  \
	ZERO3(Z0, Z1, Z2)             \
	ZERO3(Z3, Z4, Z5)             \
	ZERO3(Z6, Z7, Z8)             \
	ZERO3(Z9, Z10, Z11)           \
	ZERO3(Z12, Z13, Z14)          \
	ZERO3(Z15, Z16, Z17)          \
	ZERO3(Z18, Z19, Z20)          \
	ZERO3(Z21, Z22, Z23)          \
	CMPQ  R11, $(64/SIZE)         \
	JLE   narrow                  \
	CMPQ  R11, $(128/SIZE)        \
	JLE   middle                  \
	DISPATCH(wide1, wide2, wide3, wide4) \
	CMPQ  R10, $6                 \
	JLT   wide5                   \
	JEQ   wide6                   \
	CMPQ  R10, $8                 \
	JLT   wide7                   \
	LOOP3(wide8, THREE8)          \
	LOOP3(wide7, THREE7)          \
	LOOP3(wide6, THREE6)          \
	LOOP3(wide5, THREE5)          \
	LOOP3(wide4, THREE4)          \
	LOOP3(wide3, THREE3)          \
	LOOP3(wide2, THREE2)          \
	LOOP3(wide1, THREE1)          \
middle:                           \
	DISPATCH(middle1, middle2, middle3, middle4) \
	CMPQ  R10, $6                 \
	JLT   middle5                 \
	JEQ   middle6                 \
	CMPQ  R10, $8                 \
	JLT   middle7                 \
	LOOP2(middle8, TWO8)          \
	LOOP2(middle7, TWO7)          \
	LOOP2(middle6, TWO6)          \
	LOOP2(middle5, TWO5)          \
	LOOP2(middle4, TWO4)          \
	LOOP2(middle3, TWO3)          \
	LOOP2(middle2, TWO2)          \
	LOOP2(middle1, TWO1)          \
narrow:                           \
	DISPATCH(narrow1, narrow2, narrow3, narrow4) \
	CMPQ  R10, $6                 \
	JLT   narrow5                 \
	JEQ   narrow6                 \
	CMPQ  R10, $8                 \
	JLT   narrow7                 \
	LOOP1(narrow8, ONE8)          \
	LOOP1(narrow7, ONE7)          \
	LOOP1(narrow6, ONE6)          \
	LOOP1(narrow5, ONE5)          \
	LOOP1(narrow4, ONE4)          \
	LOOP1(narrow3, ONE3)          \
	LOOP1(narrow2, ONE2)          \
	LOOP1(narrow1, ONE1)          \
store:                            \
	CARGS                         \
	CMPQ  add+88(FP), $0          \
	JNZ   add                     \
	EIGHTROWS(PUT3)               \
add:                              \
	EIGHTROWS(ADD3)               \
done:                             \
	UNFLUSH                       \
	VZEROUPPER                    \
	RET

// AVX2: up to 4 rows of up to three vectors. Row r is summed in Y(3r) to Y(3r+2). Y12
// to Y14 hold B, Y15 an element of A.

#define FMAY3(a, x, y, z) \
	BCAST  a, Y15      \
	FMA231 Y12, Y15, x \
	FMA231 Y13, Y15, y \
	FMA231 Y14, Y15, z

#define FMAY2(a, x, y, z) \
	BCAST  a, Y15      \
	FMA231 Y12, Y15, x \
	FMA231 Y13, Y15, y

#define FMAY1(a, x, y, z) \
	BCAST  a, Y15      \
	FMA231 Y12, Y15, x

#define FOUR1(FMA) FMA((AX), Y0, Y1, Y2)
#define FOUR2(FMA) FOUR1(FMA) FMA((AX)(R13*1), Y3, Y4, Y5)
#define FOUR3(FMA) FOUR2(FMA) FMA((AX)(R13*2), Y6, Y7, Y8)
#define FOUR4(FMA) FOUR3(FMA) FMA((AX)(R14*1), Y9, Y10, Y11)

#define LOADY1 MOV (DI)(R12*SIZE), Y12
#define LOADY2 LOADY1 \
	MOV (DX)(R12*SIZE), Y13
#define LOADY3 LOADY2 \
	MOV (R9)(R12*SIZE), Y14

#define LOOPY(label, load, rows) \
label:       \
	FINDSTEP \
	load     \
	rows     \
	DECQ CX  \
	JNZ  label \
	JMP  store

#define LOOPSY(row1, row2, row3, row4, load, FMA) \
	DISPATCH(row1, row2, row3, row4) \
	LOOPY(row4, load, FOUR4(FMA)) \
	LOOPY(row3, load, FOUR3(FMA)) \
	LOOPY(row2, load, FOUR2(FMA)) \
	LOOPY(row1, load, FOUR1(FMA))

#define ZEROY3(x, y, z) \
	VPXOR x, x, x \
	VPXOR y, y, y \
	VPXOR z, z, z

// Y12 to Y14 select the columns that exist.
#define PUTY3(x, y, z) \
	MASKMOV x, Y12, (DX)   \
	MASKMOV y, Y13, 32(DX) \
	MASKMOV z, Y14, 64(DX) \
	ADDQ    R9, DX         \
	DECQ    R10            \
	JEQ     done

#define ADDY3(x, y, z) \
	MASKMOV (DX), Y12, Y15   \
	ADD     Y15, x, x        \
	MASKMOV 32(DX), Y13, Y15 \
	ADD     Y15, y, y        \
	MASKMOV 64(DX), Y14, Y15 \
	ADD     Y15, z, z        \
	PUTY3(x, y, z)

#define FULLY3(x, y, z) \
	MOV  x, (DX)   \
	MOV  y, 32(DX) \
	MOV  z, 64(DX) \
	ADDQ R9, DX    \
	DECQ R10       \
	JEQ  done

#define ADDFULLY3(x, y, z) \
	ADD (DX), x, x   \
	ADD 32(DX), y, y \
	ADD 64(DX), z, z \
	FULLY3(x, y, z)

#define FOURROWS(op) \
	op(Y0, Y1, Y2) \
	op(Y3, Y4, Y5) \
	op(Y6, Y7, Y8) \
	op(Y9, Y10, Y11)

#define WINDOW256 \
	WINDOWARGS                   \
	ZEROY3(Y0, Y1, Y2)           \
	ZEROY3(Y3, Y4, Y5)           \
	ZEROY3(Y6, Y7, Y8)           \
	ZEROY3(Y9, Y10, Y11)         \
	CMPQ    R11, $(32/SIZE)      \
	JLE     narrow               \
	CMPQ    R11, $(64/SIZE)      \
	JLE     middle               \
	LOOPSY(wide1, wide2, wide3, wide4, LOADY3, FMAY3)         \
middle:                          \
	LOOPSY(middle1, middle2, middle3, middle4, LOADY2, FMAY2) \
narrow:                          \
	LOOPSY(narrow1, narrow2, narrow3, narrow4, LOADY1, FMAY1) \
store:                           \
	CARGS                        \
	CMPQ    R11, $(96/SIZE)      \
	JLT     partial              \
	CMPQ    add+88(FP), $0       \
	JNZ     add                  \
	FOURROWS(FULLY3)             \
add:                             \
	FOURROWS(ADDFULLY3)          \
partial:                         \
	SHLQ    $SHIFT, R11          \
	LEAQ    ·laneMask+128(SB), AX \
	SUBQ    R11, AX              \
	VMOVDQU (AX), Y12            \
	VMOVDQU 32(AX), Y13          \
	VMOVDQU 64(AX), Y14          \
	CMPQ    add+88(FP), $0       \
	JNZ     addpartial           \
	FOURROWS(PUTY3)              \
addpartial:                      \
	FOURROWS(ADDY3)              \
done:                            \
	UNFLUSH                      \
	VZEROUPPER                   \
	RET
