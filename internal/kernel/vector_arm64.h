// Loops of arithmetic and sums, once for both element types; see names*_arm64.h. The last
// few elements are computed one by one, each alone in its vector. Where a vector is read,
// changed and written, an instruction of its own moves the pointer, so that the next read does
// not wait for the store.

// Arithmetic: OP is applied to a (V0), b (V1) and the constant in all of V16; the result is
// left in V0. R0 is dst, R1 a, R2 b, R3 the constant, R4 the number of elements left of R6 in a row,
// R7 that of rows. R1, R2 and R3 move on by R8, R9 and R10 bytes at the end of a row.
#define LOOP(row, vectors, rest, single, next, OP) \
row:                         \
	LOAD1   (R3), F16        \
	VSPREAD(16, 0, 16)       \
	MOVD    R6, R4           \
vectors:                     \
	SUBS    $LANES, R4       \
	BLT     rest             \
	FMOVQ.P 16(R1), F0       \
	FMOVQ.P 16(R2), F1       \
	OP                       \
	FMOVQ.P F0, 16(R0)       \
	B       vectors          \
rest:                        \
	ADDS    $LANES, R4       \
	BEQ     next             \
single:                      \
	LOAD1.P SIZE(R1), F0     \
	LOAD1.P SIZE(R2), F1     \
	OP                       \
	LOAD1.P F0, SIZE(R0)     \
	SUBS    $1, R4           \
	BNE     single           \
next:                        \
	ADD     R8, R1           \
	ADD     R9, R2           \
	ADD     R10, R3          \
	SUBS    $1, R7           \
	BNE     row              \
	RET

#define OPADD   VFADD(1, 0, 0)
#define OPSUB   VFSUB(1, 0, 0)
#define OPMUL   VFMUL(1, 0, 0)
#define OPDIV   VFDIV(1, 0, 0)
#define OPSCALE VFMUL(16, 0, 0)
#define OPSHIFT VFADD(16, 0, 0)
#define OPLESS  VFSUB(16, 0, 0)
#define OPAXPY  VFMLA(16, 0, 1) ; VCOPY(1, 0)
#define OPRELU  VFMAX(17, 0, 0)
#define OPSTEP  VFGTZ(0, 0) ; VBAND(16, 0, 0)
#define OPSQRT  VFSQRT(0, 0)

#define CASE(OP, LABEL) \
	CMP $OP, R5 \
	BEQ LABEL

// ARITHMETIC jumps to the loop of op, in the order of the constants in binary.go.
#define ARITHMETIC \
	MOVD  op+0(FP), R5      \
	MOVD  dst+8(FP), R0     \
	MOVD  a+16(FP), R1      \
	MOVD  b+24(FP), R2      \
	MOVD  c+32(FP), R3      \
	MOVD  n+40(FP), R6      \
	MOVD  rows+48(FP), R7   \
	MOVD  stepA+56(FP), R8  \
	MOVD  stepB+64(FP), R9  \
	MOVD  stepC+72(FP), R10 \
	SUB   R6, R8            \
	SUB   R6, R9            \
	LSL   $SHIFT, R8        \
	LSL   $SHIFT, R9        \
	LSL   $SHIFT, R10       \
	VZERO(17)               \
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
	LOOP(sqrt, sqrtvectors, sqrtrest, sqrtone, sqrtnext, OPSQRT)   \
	LOOP(add, addvectors, addrest, addone, addnext, OPADD)         \
	LOOP(sub, subvectors, subrest, subone, subnext, OPSUB)         \
	LOOP(mul, mulvectors, mulrest, mulone, mulnext, OPMUL)         \
	LOOP(div, divvectors, divrest, divone, divnext, OPDIV)         \
	LOOP(scale, scalevectors, scalerest, scaleone, scalenext, OPSCALE) \
	LOOP(shift, shiftvectors, shiftrest, shiftone, shiftnext, OPSHIFT) \
	LOOP(less, lessvectors, lessrest, lessone, lessnext, OPLESS)   \
	LOOP(axpy, axpyvectors, axpyrest, axpyone, axpynext, OPAXPY)   \
	LOOP(relu, reluvectors, relurest, reluone, relunext, OPRELU)   \
	LOOP(step, stepvectors, steprest, stepone, stepnext, OPSTEP)

// MULADD computes dst = a·b + c.
#define MULADD \
	MOVD dst+0(FP), R0    \
	MOVD a+8(FP), R1      \
	MOVD b+16(FP), R2     \
	MOVD c+24(FP), R3     \
	MOVD n+32(FP), R4     \
	SUBS $LANES, R4       \
	BLT  rest             \
loop:                     \
	FMOVQ.P 16(R1), F0    \
	FMOVQ.P 16(R2), F1    \
	FMOVQ.P 16(R3), F2    \
	VFMLA(1, 0, 2)        \
	FMOVQ.P F2, 16(R0)    \
	SUBS $LANES, R4       \
	BGE  loop             \
rest:                     \
	ADDS $LANES, R4       \
	BEQ  done             \
single:                   \
	LOAD1.P SIZE(R1), F0  \
	LOAD1.P SIZE(R2), F1  \
	LOAD1.P SIZE(R3), F2  \
	VFMLA(1, 0, 2)        \
	LOAD1.P F2, SIZE(R0)  \
	SUBS $1, R4           \
	BNE  single           \
done:                     \
	RET

#define ZERO4(a, b, c, d) VZERO(a) ; VZERO(b) ; VZERO(c) ; VZERO(d)

// TOTAL adds up the vectors V0 to V3 and leaves the sum in the first element of V0.
#define TOTAL \
	VFADD(1, 0, 0)  \
	VFADD(3, 2, 2)  \
	VFADD(2, 0, 0)  \
	VFADDP(0, 0, 0) \
	HALVE

// DOT sums x·y (R0, R1; n in R2) in V0.
#define DOT \
	ZERO4(0, 1, 2, 3)            \
	SUBS $(4*LANES), R2          \
	BLT  rest                    \
four:                            \
	FLDPQ (R0), (F4, F5)         \
	FLDPQ 32(R0), (F6, F7)       \
	ADD  $64, R0                 \
	FLDPQ (R1), (F16, F17)       \
	FLDPQ 32(R1), (F18, F19)     \
	ADD  $64, R1                 \
	VFMLA(16, 4, 0)              \
	VFMLA(17, 5, 1)              \
	VFMLA(18, 6, 2)              \
	VFMLA(19, 7, 3)              \
	SUBS $(4*LANES), R2          \
	BGE  four                    \
rest:                            \
	ADDS $(3*LANES), R2          \
	BLT  tail                    \
one:                             \
	FMOVQ.P 16(R0), F4           \
	FMOVQ.P 16(R1), F5           \
	VFMLA(5, 4, 0)               \
	SUBS $LANES, R2              \
	BGE  one                     \
tail:                            \
	ADDS $LANES, R2              \
	BEQ  total                   \
single:                          \
	LOAD1.P SIZE(R0), F4         \
	LOAD1.P SIZE(R1), F5         \
	VFMLA(5, 4, 1)               \
	SUBS $1, R2                  \
	BNE  single                  \
total:                           \
	TOTAL

// SUM is DOT with ones; n is in R1.
#define SUM \
	ZERO4(0, 1, 2, 3)            \
	SUBS $(4*LANES), R1          \
	BLT  rest                    \
four:                            \
	FLDPQ (R0), (F4, F5)         \
	FLDPQ 32(R0), (F6, F7)       \
	ADD  $64, R0                 \
	VFADD(4, 0, 0)               \
	VFADD(5, 1, 1)               \
	VFADD(6, 2, 2)               \
	VFADD(7, 3, 3)               \
	SUBS $(4*LANES), R1          \
	BGE  four                    \
rest:                            \
	ADDS $(3*LANES), R1          \
	BLT  tail                    \
one:                             \
	FMOVQ.P 16(R0), F4           \
	VFADD(4, 0, 0)               \
	SUBS $LANES, R1              \
	BGE  one                     \
tail:                            \
	ADDS $LANES, R1              \
	BEQ  total                   \
single:                          \
	LOAD1.P SIZE(R0), F4         \
	VFADD(4, 1, 1)               \
	SUBS $1, R1                  \
	BNE  single                  \
total:                           \
	TOTAL

// ROWPOINTERS sets R6 to R8 to the rows after the one at R1, which are R2 elements apart.
#define ROWPOINTERS \
	LSL $SHIFT, R2  \
	ADD R2, R1, R6  \
	ADD R2, R6, R7  \
	ADD R2, R7, R8

// DOTS4 sums the products of x (R0) with four rows, n elements each, in V0 to V3.
#define DOTS4 \
	MOVD x+0(FP), R0         \
	MOVD y+8(FP), R1         \
	MOVD ldy+16(FP), R2      \
	MOVD n+24(FP), R3        \
	MOVD sums+32(FP), R4     \
	ROWPOINTERS              \
	ZERO4(0, 1, 2, 3)        \
	SUBS $LANES, R3          \
	BLT  rest                \
loop:                        \
	FMOVQ.P 16(R0), F4       \
	FMOVQ.P 16(R1), F16      \
	FMOVQ.P 16(R6), F17      \
	FMOVQ.P 16(R7), F18      \
	FMOVQ.P 16(R8), F19      \
	VFMLA(16, 4, 0)          \
	VFMLA(17, 4, 1)          \
	VFMLA(18, 4, 2)          \
	VFMLA(19, 4, 3)          \
	SUBS $LANES, R3          \
	BGE  loop                \
rest:                        \
	ADDS $LANES, R3          \
	BEQ  total               \
single:                      \
	LOAD1.P SIZE(R0), F4     \
	LOAD1.P SIZE(R1), F16    \
	LOAD1.P SIZE(R6), F17    \
	LOAD1.P SIZE(R7), F18    \
	LOAD1.P SIZE(R8), F19    \
	VFMLA(16, 4, 0)          \
	VFMLA(17, 4, 1)          \
	VFMLA(18, 4, 2)          \
	VFMLA(19, 4, 3)          \
	SUBS $1, R3              \
	BNE  single              \
total:                       \
	VFADDP(1, 0, 0)          \
	VFADDP(3, 2, 2)

// FOURTERMS adds to V0 the vectors V1 to V4 times the elements of V16 and following ones.
#define FOURTERMS \
	VFMLAE(16, 0, 1, 0) \
	VFMLAE(16, 1, 2, 0) \
	VFMLAE(16, 2, 3, 0) \
	VFMLAE(16, 3, 4, 0)

// AXPY4 adds to y (R0) four rows times the numbers that V16 and following ones hold.
#define AXPY4 \
	ROWPOINTERS              \
	SUBS $LANES, R4          \
	BLT  rest                \
loop:                        \
	FMOVQ   (R0), F0         \
	FMOVQ.P 16(R1), F1       \
	FMOVQ.P 16(R6), F2       \
	FMOVQ.P 16(R7), F3       \
	FMOVQ.P 16(R8), F4       \
	FOURTERMS                \
	FMOVQ   F0, (R0)         \
	ADD  $16, R0             \
	SUBS $LANES, R4          \
	BGE  loop                \
rest:                        \
	ADDS $LANES, R4          \
	BEQ  done                \
single:                      \
	LOAD1   (R0), F0         \
	LOAD1.P SIZE(R1), F1     \
	LOAD1.P SIZE(R6), F2     \
	LOAD1.P SIZE(R7), F3     \
	LOAD1.P SIZE(R8), F4     \
	FOURTERMS                \
	LOAD1.P F0, SIZE(R0)     \
	SUBS $1, R4              \
	BNE  single              \
done:                        \
	RET
