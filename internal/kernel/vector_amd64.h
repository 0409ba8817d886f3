// Loops of arithmetic and sums, once for both element types; see names*.h. The
// vectors are AVX2's: memory, not arithmetic, is the limit.

#include "tail_amd64.h"

// Arithmetic: OP applied to a (Y0), b (Y1), the constant *c (Y14) and zero (Y13); the result is
// left in Y0. AX counts rows, CX the bytes before the tail, from R9 up to zero. DI, SI, DX and R8
// move on by R10, R11, R12 and R13 bytes from one row to the next.
#define LOOP2(ROW, VECTOR, TAIL, NEXT, OP) \
ROW:                       \
	BCAST (R8), Y14        \
	MOVQ  R9, CX           \
	TESTQ CX, CX           \
	JEQ   TAIL             \
VECTOR:                    \
	MOV   (SI)(CX*1), Y0   \
	MOV   (DX)(CX*1), Y1   \
	OP                     \
	MOV   Y0, (DI)(CX*1)   \
	ADDQ  $32, CX          \
	JNZ   VECTOR           \
TAIL:                      \
	TESTQ BX, BX           \
	JEQ   NEXT             \
	MASKMOV (SI), Y15, Y0  \
	MASKMOV (DX), Y15, Y1  \
	OP                     \
	MASKMOV Y0, Y15, (DI)  \
NEXT:                      \
	ADDQ  R10, DI          \
	ADDQ  R11, SI          \
	ADDQ  R12, DX          \
	ADDQ  R13, R8          \
	DECQ  AX               \
	JNZ   ROW              \
	VZEROUPPER             \
	RET

#define OPADD   ADD Y1, Y0, Y0
#define OPSUB   SUB Y1, Y0, Y0
#define OPMUL   MUL Y1, Y0, Y0
#define OPDIV   DIV Y1, Y0, Y0
#define OPSCALE MUL Y14, Y0, Y0
#define OPSHIFT ADD Y14, Y0, Y0
#define OPLESS  SUB Y14, Y0, Y0
#define OPAXPY  FMA213 Y1, Y14, Y0
#define OPRELU  MAX Y0, Y13, Y0
#define OPSTEP  CMP $1, Y0, Y13, Y0 \
	AND Y14, Y0, Y0
#define OPSQRT  SQRT Y0, Y0

#define CASE(OP, LABEL) \
	CMPQ CX, $OP \
	JEQ  LABEL

// ARITHMETIC jumps to the loop of op, in the order of the constants in
// binary.go. Y15 is the mask of the tail, of BX bytes.
#define ARITHMETIC \
	MOVQ  op+0(FP), CX      \
	MOVQ  dst+8(FP), DI     \
	MOVQ  a+16(FP), SI      \
	MOVQ  b+24(FP), DX      \
	MOVQ  c+32(FP), R8      \
	MOVQ  n+40(FP), R10     \
	MOVQ  rows+48(FP), AX   \
	MOVQ  stepA+56(FP), R11 \
	MOVQ  stepB+64(FP), R12 \
	MOVQ  stepC+72(FP), R13 \
	SHLQ  $SHIFT, R10       \
	SHLQ  $SHIFT, R11       \
	SHLQ  $SHIFT, R12       \
	SHLQ  $SHIFT, R13       \
	MOVQ  R10, BX           \
	ANDQ  $31, BX           \
	MOVQ  BX, R9            \
	SUBQ  R10, R9           \
	SUBQ  R9, DI            \
	SUBQ  R9, SI            \
	SUBQ  R9, DX            \
	VPXOR Y13, Y13, Y13     \
	LEAQ  ·laneMask+128(SB), R14 \
	SUBQ  BX, R14           \
	VMOVDQU (R14), Y15      \
	CASE(0, add)            \
	CASE(1, sub)            \
	CASE(2, mul)            \
	CASE(3, div)            \
	CASE(4, scale)          \
	CASE(5, shift)          \
	CASE(6, less)           \
	CASE(7, axpy)           \
	CASE(8, relu)           \
	CASE(9, step)           \
	LOOP2(sqrt, sqrtvectors, sqrttail, sqrtnext, OPSQRT)     \
	LOOP2(add, addvectors, addtail, addnext, OPADD)          \
	LOOP2(sub, subvectors, subtail, subnext, OPSUB)          \
	LOOP2(mul, mulvectors, multail, mulnext, OPMUL)          \
	LOOP2(div, divvectors, divtail, divnext, OPDIV)          \
	LOOP2(scale, scalevectors, scaletail, scalenext, OPSCALE) \
	LOOP2(shift, shiftvectors, shifttail, shiftnext, OPSHIFT) \
	LOOP2(less, lessvectors, lesstail, lessnext, OPLESS)     \
	LOOP2(axpy, axpyvectors, axpytail, axpynext, OPAXPY)     \
	LOOP2(relu, reluvectors, relutail, relunext, OPRELU)     \
	LOOP2(step, stepvectors, steptail, stepnext, OPSTEP)

// MULADD computes dst = a·b + c.
#define MULADD \
	MOVQ dst+0(FP), DI         \
	MOVQ a+8(FP), SI           \
	MOVQ b+16(FP), DX          \
	MOVQ c+24(FP), R8          \
	MOVQ n+32(FP), CX          \
	SUBQ $LANES, CX            \
	JLT  tail                  \
loop:                          \
	MOV    (SI), Y0            \
	MOV    (DX), Y1            \
	FMA213 (R8), Y1, Y0        \
	MOV    Y0, (DI)            \
	ADDQ   $32, SI             \
	ADDQ   $32, DX             \
	ADDQ   $32, R8             \
	ADDQ   $32, DI             \
	SUBQ   $LANES, CX          \
	JGE    loop                \
tail:                          \
	TAILMASK(Y15) \
	MASKMOV (SI), Y15, Y0      \
	MASKMOV (DX), Y15, Y1      \
	MASKMOV (R8), Y15, Y2      \
	FMA213  Y2, Y1, Y0         \
	MASKMOV Y0, Y15, (DI)      \
	VZEROUPPER                 \
	RET

#define CLEAR4(a, b, c, d) \
	VPXOR a, a, a \
	VPXOR b, b, b \
	VPXOR c, c, c \
	VPXOR d, d, d

// DOT sums x·y (SI, DX; n in CX) in Y0 to Y3, then adds up the vectors in Y0.
#define DOT \
	CLEAR4(Y0, Y1, Y2, Y3)     \
	SUBQ  $(4*LANES), CX       \
	JLT   rest                 \
four:                          \
	MOV    (SI), Y4            \
	MOV    32(SI), Y5          \
	MOV    64(SI), Y6          \
	MOV    96(SI), Y7          \
	FMA231 (DX), Y4, Y0        \
	FMA231 32(DX), Y5, Y1      \
	FMA231 64(DX), Y6, Y2      \
	FMA231 96(DX), Y7, Y3      \
	ADDQ   $128, SI            \
	ADDQ   $128, DX            \
	SUBQ   $(4*LANES), CX      \
	JGE    four                \
rest:                          \
	ADDQ $(3*LANES), CX        \
	JLT  tail                  \
one:                           \
	MOV    (SI), Y4            \
	FMA231 (DX), Y4, Y0        \
	ADDQ   $32, SI             \
	ADDQ   $32, DX             \
	SUBQ   $LANES, CX          \
	JGE    one                 \
tail:                          \
	TAILMASK(Y15) \
	MASKMOV (SI), Y15, Y4      \
	MASKMOV (DX), Y15, Y5      \
	FMA231  Y4, Y5, Y1         \
	ADD     Y1, Y0, Y0         \
	ADD     Y3, Y2, Y2         \
	ADD     Y2, Y0, Y0

// SUM is DOT with ones.
#define SUM \
	CLEAR4(Y0, Y1, Y2, Y3)     \
	SUBQ  $(4*LANES), CX       \
	JLT   rest                 \
four:                          \
	ADD  (SI), Y0, Y0          \
	ADD  32(SI), Y1, Y1        \
	ADD  64(SI), Y2, Y2        \
	ADD  96(SI), Y3, Y3        \
	ADDQ $128, SI              \
	SUBQ $(4*LANES), CX        \
	JGE  four                  \
rest:                          \
	ADDQ $(3*LANES), CX        \
	JLT  tail                  \
one:                           \
	ADD  (SI), Y0, Y0          \
	ADDQ $32, SI               \
	SUBQ $LANES, CX            \
	JGE  one                   \
tail:                          \
	TAILMASK(Y15) \
	MASKMOV (SI), Y15, Y4      \
	ADD     Y4, Y1, Y1         \
	ADD     Y1, Y0, Y0         \
	ADD     Y3, Y2, Y2         \
	ADD     Y2, Y0, Y0

// FOURROWS adds to a, b, c and d the products of x with a vector of each of four rows (DX,
// R8 bytes apart, R9 is three times that), at an offset.
#define FOURROWS(offset, x, a, b, c, d) \
	FMA231 offset(DX), x, a       \
	FMA231 offset(DX)(R8*1), x, b \
	FMA231 offset(DX)(R8*2), x, c \
	FMA231 offset(DX)(R9*1), x, d

// DOTS4 sums the products of x (SI) with four rows (DX, R8 bytes apart), n elements each,
// in Y0 to Y3. The sums go to DI.
#define DOTS4 \
	MOVQ  x+0(FP), SI            \
	MOVQ  y+8(FP), DX            \
	MOVQ  ldy+16(FP), R8         \
	MOVQ  n+24(FP), CX           \
	MOVQ  sums+32(FP), DI        \
	SHLQ  $SHIFT, R8             \
	LEAQ  (R8)(R8*2), R9         \
	CLEAR4(Y0, Y1, Y2, Y3)       \
	CLEAR4(Y4, Y5, Y6, Y7)       \
	SUBQ  $(2*LANES), CX         \
	JLT   rest                   \
two:                             \
	MOV    (SI), Y8              \
	MOV    32(SI), Y9            \
	FOURROWS(0, Y8, Y0, Y1, Y2, Y3) \
	FOURROWS(32, Y9, Y4, Y5, Y6, Y7) \
	ADDQ   $64, SI               \
	ADDQ   $64, DX               \
	SUBQ   $(2*LANES), CX        \
	JGE    two                   \
rest:                            \
	ADDQ   $LANES, CX            \
	JLT    tail                  \
	MOV    (SI), Y8              \
	FOURROWS(0, Y8, Y0, Y1, Y2, Y3) \
	ADDQ   $32, SI               \
	ADDQ   $32, DX               \
	SUBQ   $LANES, CX            \
tail:                            \
	TAILMASK(Y15)                \
	MASKMOV (SI), Y15, Y8        \
	MASKMOV (DX), Y15, Y9        \
	MASKMOV (DX)(R8*1), Y15, Y10 \
	MASKMOV (DX)(R8*2), Y15, Y11 \
	MASKMOV (DX)(R9*1), Y15, Y12 \
	FMA231  Y9, Y8, Y4           \
	FMA231  Y10, Y8, Y5          \
	FMA231  Y11, Y8, Y6          \
	FMA231  Y12, Y8, Y7          \
	ADD     Y4, Y0, Y0           \
	ADD     Y5, Y1, Y1           \
	ADD     Y6, Y2, Y2           \
	ADD     Y7, Y3, Y3

// AXPY4 adds to y (DI) four rows (SI, R8 bytes apart) times the numbers at DX.
#define AXPY4 \
	MOVQ  y+0(FP), DI           \
	MOVQ  m+8(FP), SI           \
	MOVQ  ldm+16(FP), R8        \
	MOVQ  x+24(FP), DX          \
	MOVQ  n+32(FP), CX          \
	SHLQ  $SHIFT, R8            \
	LEAQ  (R8)(R8*2), R9        \
	BCAST (DX), Y8              \
	BCAST (1<<SHIFT)(DX), Y9    \
	BCAST (2<<SHIFT)(DX), Y10   \
	BCAST (3<<SHIFT)(DX), Y11   \
	SUBQ  $LANES, CX            \
	JLT   tail                  \
loop:                           \
	MOV    (DI), Y0             \
	FMA231 (SI), Y8, Y0         \
	FMA231 (SI)(R8*1), Y9, Y0   \
	FMA231 (SI)(R8*2), Y10, Y0  \
	FMA231 (SI)(R9*1), Y11, Y0  \
	MOV    Y0, (DI)             \
	ADDQ   $32, SI              \
	ADDQ   $32, DI              \
	SUBQ   $LANES, CX           \
	JGE    loop                 \
tail:                           \
	TAILMASK(Y15) \
	MASKMOV (DI), Y15, Y0       \
	MASKMOV (SI), Y15, Y4       \
	MASKMOV (SI)(R8*1), Y15, Y5 \
	MASKMOV (SI)(R8*2), Y15, Y6 \
	MASKMOV (SI)(R9*1), Y15, Y7 \
	FMA231  Y4, Y8, Y0          \
	FMA231  Y5, Y9, Y0          \
	FMA231  Y6, Y10, Y0         \
	FMA231  Y7, Y11, Y0         \
	MASKMOV Y0, Y15, (DI)       \
	VZEROUPPER                  \
	RET

// SYMV4 sums the products of x (SI) with four rows (DX, R8 bytes apart), n elements each, in Y0 to
// Y3, and adds the rows times the numbers at BX to y (R10).
#define SYMV4 \
	MOVQ  x+0(FP), SI            \
	MOVQ  y+8(FP), R10           \
	MOVQ  m+16(FP), DX           \
	MOVQ  ldm+24(FP), R8         \
	MOVQ  c+32(FP), BX           \
	MOVQ  n+40(FP), CX           \
	MOVQ  sums+48(FP), DI        \
	SHLQ  $SHIFT, R8             \
	LEAQ  (R8)(R8*2), R9         \
	BCAST (BX), Y8               \
	BCAST (1<<SHIFT)(BX), Y9     \
	BCAST (2<<SHIFT)(BX), Y10    \
	BCAST (3<<SHIFT)(BX), Y11    \
	CLEAR4(Y0, Y1, Y2, Y3)       \
	SUBQ  $LANES, CX             \
	JLT   tail                   \
loop:                            \
	MOV    (SI), Y12             \
	MOV    (R10), Y13            \
	MOV    (DX), Y4              \
	MOV    (DX)(R8*1), Y5        \
	MOV    (DX)(R8*2), Y6        \
	MOV    (DX)(R9*1), Y7        \
	BOTH4                        \
	MOV    Y13, (R10)            \
	ADDQ   $32, SI               \
	ADDQ   $32, R10              \
	ADDQ   $32, DX               \
	SUBQ   $LANES, CX            \
	JGE    loop                  \
tail:                            \
	TAILMASK(Y15)                \
	MASKMOV (SI), Y15, Y12       \
	MASKMOV (R10), Y15, Y13      \
	MASKMOV (DX), Y15, Y4        \
	MASKMOV (DX)(R8*1), Y15, Y5  \
	MASKMOV (DX)(R8*2), Y15, Y6  \
	MASKMOV (DX)(R9*1), Y15, Y7  \
	BOTH4                        \
	MASKMOV Y13, Y15, (R10)

// BOTH4 is one step of SYMV4: x is Y12, y is Y13, and the rows are Y4 to Y7.
#define BOTH4 \
	FMA231 Y4, Y12, Y0  \
	FMA231 Y4, Y8, Y13  \
	FMA231 Y5, Y12, Y1  \
	FMA231 Y5, Y9, Y13  \
	FMA231 Y6, Y12, Y2  \
	FMA231 Y6, Y10, Y13 \
	FMA231 Y7, Y12, Y3  \
	FMA231 Y7, Y11, Y13
