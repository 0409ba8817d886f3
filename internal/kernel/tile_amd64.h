// Micro-kernels of the matrix product, once for both element types; see
// names*.h.
//
// Registers: CX steps left, SI A, R12 bytes between its steps, R13 between its rows,
// DI B, R8 bytes between rows of B, DX C, R9 bytes between rows of C, R10 rows,
// R11 columns. Rows of A are reached by multiples of R13: three in R14, five in R15
// and, where there are so many rows, seven in BX, nine in AX, eleven in R11.

#include "flush_amd64.h"

#define LOADARGS \
	FLUSH                 \
	MOVQ k+0(FP), CX      \
	MOVQ a+16(FP), SI     \
	MOVQ arow+24(FP), R13 \
	MOVQ astep+32(FP), R12 \
	MOVQ b+40(FP), DI     \
	MOVQ ldb+48(FP), R8   \
	MOVQ c+56(FP), DX     \
	MOVQ ldc+64(FP), R9   \
	MOVQ rows+72(FP), R10 \
	MOVQ cols+80(FP), R11 \
	SHLQ $SHIFT, R8       \
	SHLQ $SHIFT, R9       \
	SHLQ $SHIFT, R12      \
	SHLQ $SHIFT, R13      \
	LEAQ (R13)(R13*2), R14 \
	LEAQ (R13)(R13*4), R15

#define NEXTSTEP \
	ADDQ R12, SI \
	ADDQ R8, DI  \
	DECQ CX

// AVX-512: up to 12 rows of two vectors. Row r is summed in Z(2r) and Z(2r+1).
// Z24, Z25 hold B, Z26 an element of A.

#define ZERO4(a, b, c, d) \
	VPXORQ a, a, a \
	VPXORQ b, b, b \
	VPXORQ c, c, c \
	VPXORQ d, d, d

#define LOADB2 \
	MOV (DI), Z24   \
	MOV 64(DI), Z25

#define ROW2(a, x, y) \
	BCAST a, Z26       \
	FMA231   Z24, Z26, x       \
	FMA231   Z25, Z26, y

#define ROW1(a, x) \
	BCAST a, Z26       \
	FMA231   Z24, Z26, x

#define ROWS2A \
	ROW2((SI), Z0, Z1) ROW2((SI)(R13*1), Z2, Z3) \
	ROW2((SI)(R13*2), Z4, Z5) ROW2((SI)(R14*1), Z6, Z7)
#define ROWS2B \
	ROW2((SI)(R13*4), Z8, Z9) ROW2((SI)(R15*1), Z10, Z11) \
	ROW2((SI)(R14*2), Z12, Z13) ROW2((SI)(BX*1), Z14, Z15)
#define ROWS2C \
	ROW2((SI)(R13*8), Z16, Z17) ROW2((SI)(AX*1), Z18, Z19) \
	ROW2((SI)(R15*2), Z20, Z21) ROW2((SI)(R11*1), Z22, Z23)
#define ROWS1A \
	ROW1((SI), Z0) ROW1((SI)(R13*1), Z2) \
	ROW1((SI)(R13*2), Z4) ROW1((SI)(R14*1), Z6)
#define ROWS1B \
	ROW1((SI)(R13*4), Z8) ROW1((SI)(R15*1), Z10) \
	ROW1((SI)(R14*2), Z12) ROW1((SI)(BX*1), Z14)
#define ROWS1C \
	ROW1((SI)(R13*8), Z16) ROW1((SI)(AX*1), Z18) \
	ROW1((SI)(R15*2), Z20) ROW1((SI)(R11*1), Z22)

// Z27 is alpha; K1 and K2 select the columns that exist.
#define STORE512(x, y) \
	MUL  Z27, x, x    \
	MUL  Z27, y, y    \
	MOV  x, K1, (DX)  \
	MOV  y, K2, 64(DX) \
	ADDQ R9, DX       \
	DECQ R10          \
	JEQ  done

#define ADD512(x, y) \
	MOV.Z (DX), K1, Z24   \
	MOV.Z 64(DX), K2, Z25 \
	MUL   Z27, x, x       \
	MUL   Z27, y, y       \
	ADD   Z24, x, x       \
	ADD   Z25, y, y       \
	MOV   x, K1, (DX)     \
	MOV   y, K2, 64(DX)   \
	ADDQ  R9, DX          \
	DECQ  R10             \
	JEQ   done

// The rows of C are on their way to the cache during the product.
#define TILE512 \
	LOADARGS                     \
	MOVQ   $-1, AX               \
	BZHIQ  R11, AX, AX           \
	KMOVW  AX, K1                \
	SHRQ   $(64/SIZE), AX        \
	KMOVW  AX, K2                \
	ZERO4(Z0, Z1, Z2, Z3)        \
	ZERO4(Z4, Z5, Z6, Z7)        \
	ZERO4(Z8, Z9, Z10, Z11)      \
	ZERO4(Z12, Z13, Z14, Z15)    \
	ZERO4(Z16, Z17, Z18, Z19)    \
	ZERO4(Z20, Z21, Z22, Z23)    \
	MOVQ   DX, AX                \
	MOVQ   R10, BX               \
fetch:                           \
	PREFETCHT0 (AX)              \
	PREFETCHT0 64(AX)            \
	PREFETCHT0 127(AX)           \
	ADDQ   R9, AX                \
	DECQ   BX                    \
	JNZ    fetch                 \
	LEAQ   (R14)(R13*4), BX      \
	LEAQ   (R13)(R13*8), AX      \
	CMPQ   R11, $(64/SIZE)       \
	LEAQ   (R14)(R13*8), R11     \
	JLE    narrow                \
	CMPQ   R10, $8               \
	JGT    wide12                \
	CMPQ   R10, $4               \
	JGT    wide8                 \
wide4:                           \
	LOADB2                       \
	ROWS2A                       \
	NEXTSTEP                     \
	JNZ    wide4                 \
	JMP    store                 \
wide8:                           \
	LOADB2                       \
	ROWS2A                       \
	ROWS2B                       \
	NEXTSTEP                     \
	JNZ    wide8                 \
	JMP    store                 \
wide12:                          \
	MOVQ   DI, DX                \
	ADDQ   ahead+96(FP), DX      \
	MOVQ   pace+104(FP), R9      \
	PCALIGN $32                  \
loop12:                          \
	PREFETCHT1 (DX)              \
	ADDQ   R9, DX                \
	LOADB2                       \
	ROWS2A                       \
	ROWS2B                       \
	ROWS2C                       \
	NEXTSTEP                     \
	JNZ    loop12                \
	MOVQ   c+56(FP), DX          \
	MOVQ   ldc+64(FP), R9        \
	SHLQ   $SHIFT, R9            \
	JMP    store                 \
narrow:                          \
	CMPQ   R10, $8               \
	JGT    narrow12              \
	CMPQ   R10, $4               \
	JGT    narrow8               \
narrow4:                         \
	MOV    (DI), Z24             \
	ROWS1A                       \
	NEXTSTEP                     \
	JNZ    narrow4               \
	JMP    store                 \
narrow8:                         \
	MOV    (DI), Z24             \
	ROWS1A                       \
	ROWS1B                       \
	NEXTSTEP                     \
	JNZ    narrow8               \
	JMP    store                 \
narrow12:                        \
	MOV    (DI), Z24             \
	ROWS1A                       \
	ROWS1B                       \
	ROWS1C                       \
	NEXTSTEP                     \
	JNZ    narrow12              \
store:                           \
	BCAST  alpha+8(FP), Z27      \
	CMPQ   add+88(FP), $0        \
	JNZ    add                   \
	STORE512(Z0, Z1)             \
	STORE512(Z2, Z3)             \
	STORE512(Z4, Z5)             \
	STORE512(Z6, Z7)             \
	STORE512(Z8, Z9)             \
	STORE512(Z10, Z11)           \
	STORE512(Z12, Z13)           \
	STORE512(Z14, Z15)           \
	STORE512(Z16, Z17)           \
	STORE512(Z18, Z19)           \
	STORE512(Z20, Z21)           \
	STORE512(Z22, Z23)           \
add:                             \
	ADD512(Z0, Z1)               \
	ADD512(Z2, Z3)               \
	ADD512(Z4, Z5)               \
	ADD512(Z6, Z7)               \
	ADD512(Z8, Z9)               \
	ADD512(Z10, Z11)             \
	ADD512(Z12, Z13)             \
	ADD512(Z14, Z15)             \
	ADD512(Z16, Z17)             \
	ADD512(Z18, Z19)             \
	ADD512(Z20, Z21)             \
	ADD512(Z22, Z23)             \
done:                            \
	UNFLUSH                      \
	VZEROUPPER                   \
	RET

// AVX2: up to 6 rows of two vectors. Row r is summed in Y(2r) and Y(2r+1).
// Y12, Y13 hold B, Y14 and Y15 elements of A.

#define ROWS6 \
	MOV   (DI), Y12         \
	MOV   32(DI), Y13       \
	BCAST (SI), Y14         \
	BCAST (SI)(R13*1), Y15  \
	FMA231   Y12, Y14, Y0      \
	FMA231   Y13, Y14, Y1      \
	FMA231   Y12, Y15, Y2      \
	FMA231   Y13, Y15, Y3      \
	BCAST (SI)(R13*2), Y14  \
	BCAST (SI)(R14*1), Y15  \
	FMA231   Y12, Y14, Y4      \
	FMA231   Y13, Y14, Y5      \
	FMA231   Y12, Y15, Y6      \
	FMA231   Y13, Y15, Y7      \
	BCAST (SI)(R13*4), Y14  \
	BCAST (SI)(R15*1), Y15  \
	FMA231   Y12, Y14, Y8      \
	FMA231   Y13, Y14, Y9      \
	FMA231   Y12, Y15, Y10     \
	FMA231   Y13, Y15, Y11     \
	NEXTSTEP

#define ZERO2(a, b) \
	VPXOR a, a, a \
	VPXOR b, b, b

// Y12 is alpha, Y13 and Y14 select the columns that exist.
#define NEXTROW(done) \
	ADDQ R9, DX \
	DECQ R10    \
	JEQ  done

#define STORE256(x, y) \
	MUL     Y12, x, x         \
	MUL     Y12, y, y         \
	MASKMOV x, Y13, (DX)      \
	MASKMOV y, Y14, 32(DX)    \
	NEXTROW(done)

#define ADD256(x, y) \
	MASKMOV (DX), Y13, Y15    \
	MUL     Y12, x, x         \
	ADD     Y15, x, x         \
	MASKMOV x, Y13, (DX)      \
	MASKMOV 32(DX), Y14, Y15  \
	MUL     Y12, y, y         \
	ADD     Y15, y, y         \
	MASKMOV y, Y14, 32(DX)    \
	NEXTROW(done)

#define STOREFULL256(x, y) \
	MUL  Y12, x, x  \
	MUL  Y12, y, y  \
	MOV  x, (DX)    \
	MOV  y, 32(DX)  \
	NEXTROW(done)

#define ADDFULL256(x, y) \
	MUL  Y12, x, x      \
	MUL  Y12, y, y      \
	ADD  (DX), x, x     \
	ADD  32(DX), y, y   \
	MOV  x, (DX)        \
	MOV  y, 32(DX)      \
	NEXTROW(done)

#define SIXROWS(op) \
	op(Y0, Y1)  \
	op(Y2, Y3)  \
	op(Y4, Y5)  \
	op(Y6, Y7)  \
	op(Y8, Y9)  \
	op(Y10, Y11)

#define TILE256 \
	LOADARGS                     \
	ZERO2(Y0, Y1)                \
	ZERO2(Y2, Y3)                \
	ZERO2(Y4, Y5)                \
	ZERO2(Y6, Y7)                \
	ZERO2(Y8, Y9)                \
	ZERO2(Y10, Y11)              \
	TESTQ  $1, CX                \
	JEQ    even                  \
	ROWS6                        \
	JEQ    store                 \
even:                            \
	ROWS6                        \
	ROWS6                        \
	JNZ    even                  \
store:                           \
	BCAST  alpha+8(FP), Y12      \
	CMPQ   R11, $(64/SIZE)       \
	JLT    partial               \
	CMPQ   add+88(FP), $0        \
	JNZ    add                   \
	SIXROWS(STOREFULL256)        \
add:                             \
	SIXROWS(ADDFULL256)          \
partial:                         \
	SHLQ   $SHIFT, R11           \
	LEAQ   ·laneMask+128(SB), AX \
	SUBQ   R11, AX               \
	VMOVDQU (AX), Y13            \
	VMOVDQU 32(AX), Y14          \
	CMPQ   add+88(FP), $0        \
	JNZ    addpartial            \
	SIXROWS(STORE256)            \
addpartial:                      \
	SIXROWS(ADD256)              \
done:                            \
	UNFLUSH                      \
	VZEROUPPER                   \
	RET
