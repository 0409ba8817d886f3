// Loops over vectors and the bodies of the elementary functions, once for both
// element types. The including file defines the names of the instructions (see
// vector32_amd64.s), LANES and SHIFT, and the numbers of coefficients.
//
// Bodies take their argument in Y0 and leave their result there.

// UNARY applies BODY to n elements, the last few under a mask.
#define UNARY(BODY) \
	MOVQ dst+0(FP), DI             \
	MOVQ src+8(FP), SI             \
	MOVQ n+16(FP), CX              \
	LEAQ CONSTANTS, R9             \
	SUBQ $LANES, CX                \
	JLT  tail                      \
	PCALIGN $32                    \
loop:                              \
	MOV  (SI), Y0                  \
	BODY                           \
	MOV  Y0, (DI)                  \
	ADDQ $32, SI                   \
	ADDQ $32, DI                   \
	SUBQ $LANES, CX                \
	JGE  loop                      \
tail:                              \
	ADDQ $LANES, CX                \
	JEQ  done                      \
	SHLQ $SHIFT, CX                \
	LEAQ ·laneMask+128(SB), AX     \
	SUBQ CX, AX                    \
	VMOVDQU (AX), Y15              \
	MASKMOV (SI), Y15, Y0          \
	BODY                           \
	MASKMOV Y0, Y15, (DI)          \
done:                              \
	VZEROUPPER                     \
	RET

// Constants, in the order of constants.go.
#define LOG2E   (0*32)(R9)
#define MAGIC   (1*32)(R9)  // 1.5·2^mantissa: adding it rounds to an integer
#define LN2HI   (2*32)(R9)
#define LN2LO   (3*32)(R9)
#define ONE     (4*32)(R9)
#define HALF    (5*32)(R9)
#define TWO     (6*32)(R9)
#define SIGN    (7*32)(R9)
#define EXPMAX  (8*32)(R9)
#define EXPMIN  (9*32)(R9)
#define TANHMAX (10*32)(R9)
#define NORMAL  (11*32)(R9) // smallest normal number
#define RAISE   (12*32)(R9) // makes denormals normal
#define RAISED  (13*32)(R9) // log2 of that
#define MANTISSA (14*32)(R9)
#define INTEGER (15*32)(R9) // 2^mantissa: its low bits hold an integer
#define BIAS    (16*32)(R9) // INTEGER and the exponent's bias
#define SQRT2   (17*32)(R9)
#define INF     (18*32)(R9)
#define NEGINF  (19*32)(R9)
#define EXPC(i) ((20+i)*32)(R9)
#define LOGC(i) ((32+i)*32)(R9)

// REDUCE splits x = n·ln2 + r, |r| <= ln2/2: r in Y0, n in Y1. Y6 is r before
// the small part of n·ln2 is taken off, which is exact.
#define REDUCE \
	MOV     LOG2E, Y1      \
	FMA213  MAGIC, Y0, Y1  \
	SUB     MAGIC, Y1, Y1  \
	FNMA231 LN2HI, Y1, Y0  \
	MOV     Y0, Y6         \
	FNMA231 LN2LO, Y1, Y0

// EXPM1 computes exp(r) - 1 - Y6 = r²·q(r) - n·(small part of ln2) in Y2.
#define EXPM1 \
	EXPPOLY               \
	MUL     Y0, Y0, Y3    \
	MUL     Y3, Y2, Y2    \
	FNMA231 LN2LO, Y1, Y2

// EXPCORE computes exp(x) for EXPMIN <= x <= EXPMAX. 2ⁿ is multiplied in two
// halves, so that results overflow and lose bits only in the last step.
#define EXPCORE \
	REDUCE                \
	EXPM1                 \
	ADD    Y6, Y2, Y2     \
	ADD    ONE, Y2, Y2    \
	MOV    HALF, Y3       \
	FMA213 MAGIC, Y1, Y3  \
	SUB    MAGIC, Y3, Y4  \
	SUB    Y4, Y1, Y5     \
	ADD    MAGIC, Y5, Y5  \
	SHL    $EXPONENT, Y3, Y3 \
	SHL    $EXPONENT, Y5, Y5 \
	IADD   ONE, Y3, Y3    \
	IADD   ONE, Y5, Y5    \
	MUL    Y3, Y2, Y2     \
	MUL    Y5, Y2, Y0

// MIN and MAX return the operand written first if either is NaN.
#define EXPBODY \
	MOV EXPMAX, Y1   \
	MIN Y0, Y1, Y0   \
	MOV EXPMIN, Y1   \
	MAX Y0, Y1, Y0   \
	EXPCORE

// With y = |x| and e = exp(2y) - 1 = 2ⁿ·expm1(r) + (2ⁿ - 1), tanh(y) = e/(2+e).
// For n = 0 that is y + (w - y·e)/(2+e), w = e - 2y, whose rounding errors are
// those of a small correction.
#define TANHBODY \
	MOV     SIGN, Y5          \
	AND     Y5, Y0, Y7        \
	ANDN    Y0, Y5, Y0        \
	MOV     TANHMAX, Y1       \
	MIN     Y0, Y1, Y8        \
	ADD     Y8, Y8, Y0        \
	REDUCE                    \
	EXPM1                     \
	XOR     Y4, Y4, Y4        \
	CMP     $0, Y4, Y1, Y9    \ // n = 0
	AND     Y9, Y8, Y5        \
	ADD     MAGIC, Y1, Y1     \
	SHL     $EXPONENT, Y1, Y1 \
	IADD    ONE, Y1, Y1       \
	SUB     ONE, Y1, Y3       \
	FMA231  Y6, Y1, Y3        \
	FMA231  Y2, Y1, Y3        \ // e
	FNMA231 Y8, Y3, Y2        \
	BLEND   Y9, Y2, Y3, Y2    \
	ADD     TWO, Y3, Y3       \
	DIV     Y3, Y2, Y0        \
	ADD     Y5, Y0, Y0        \
	OR      Y7, Y0, Y0

// With e = exp(-|x|): e/(1+e) where x is negative, 1/(1+e) elsewhere.
#define SIGMOIDBODY \
	MOV   Y0, Y8           \
	OR    SIGN, Y0, Y0     \
	MOV   EXPMIN, Y1       \
	MAX   Y0, Y1, Y0       \
	EXPCORE                \
	MOV   ONE, Y1          \
	BLEND Y8, Y0, Y1, Y2   \
	ADD   Y1, Y0, Y0       \
	DIV   Y0, Y2, Y0

// LOGCORE computes k·ln2 + log(1+f), k in Y1, f in Y0, -0.3 < f <= 0.5. With
// s = f/(2+f), log(1+f) = 2·atanh(s) = f - (f²/2 - s·(f²/2 + s²·L(s²))): the
// arrangement of FreeBSD's e_log.c, which keeps the rounding errors small.
#define LOGCORE \
	ADD     TWO, Y0, Y2   \
	DIV     Y2, Y0, Y2    \
	MUL     Y2, Y2, Y3    \
	LOGPOLY               \
	MUL     Y0, Y0, Y5    \
	MUL     HALF, Y5, Y5  \
	FMA213  Y5, Y3, Y4    \
	MUL     Y2, Y4, Y4    \
	FMA231  LN2LO, Y1, Y4 \
	SUB     Y4, Y5, Y5    \
	SUB     Y0, Y5, Y5    \
	MOV     LN2HI, Y0     \
	FMS213  Y5, Y1, Y0

// x = 2^k·m with sqrt(1/2) < m <= sqrt(2).
#define LOGBODY \
	MOV   Y0, Y6                \
	CMP   $1, NORMAL, Y0, Y7    \
	MUL   RAISE, Y0, Y1         \
	BLEND Y7, Y1, Y0, Y0        \
	AND   RAISED, Y7, Y7        \
	SHR   $EXPONENT, Y0, Y1     \
	OR    INTEGER, Y1, Y1       \
	SUB   BIAS, Y1, Y1          \
	SUB   Y7, Y1, Y1            \
	AND   MANTISSA, Y0, Y0      \
	OR    ONE, Y0, Y0           \
	CMP   $14, SQRT2, Y0, Y7    \
	AND   ONE, Y7, Y2           \
	ADD   Y2, Y1, Y1            \
	MUL   HALF, Y0, Y2          \
	BLEND Y7, Y2, Y0, Y0        \
	SUB   ONE, Y0, Y0           \
	LOGCORE                     \
	CMP   $5, INF, Y6, Y1       \ // not less than Inf: Inf or NaN
	BLEND Y1, Y6, Y0, Y0        \
	XOR   Y2, Y2, Y2            \
	CMP   $1, Y2, Y6, Y1        \ // negative: set all bits, a NaN
	OR    Y1, Y0, Y0            \
	CMP   $0, Y2, Y6, Y1        \
	BLEND Y1, NEGINF, Y0, Y0

// max(x, 0) + log(1+e), e = exp(-|x|); for e >= 1/2 as ln2 + log(1 + (e-1)/2).
#define SOFTPLUSBODY \
	MOV   Y0, Y8             \
	OR    SIGN, Y0, Y0       \
	MOV   EXPMIN, Y1         \
	MAX   Y0, Y1, Y0         \
	EXPCORE                  \
	CMP   $13, HALF, Y0, Y7  \
	AND   ONE, Y7, Y1        \
	SUB   ONE, Y0, Y2        \
	MUL   HALF, Y2, Y2       \
	BLEND Y7, Y2, Y0, Y0     \
	LOGCORE                  \
	XOR   Y2, Y2, Y2         \
	MAX   Y8, Y2, Y2         \
	ADD   Y2, Y0, Y0

// Arithmetic: loops named LOOP with OP applied to a (Y0), b (Y1), the constant
// *c (Y14) and zero (Y13); the result is left in Y0.
#define LOOP2(LOOP, TAIL, OP) \
LOOP:                     \
	SUBQ $LANES, CX       \
	JLT  TAIL             \
	MOV  (SI), Y0         \
	MOV  (DX), Y1         \
	OP                    \
	MOV  Y0, (DI)         \
	ADDQ $32, SI          \
	ADDQ $32, DX          \
	ADDQ $32, DI          \
	JMP  LOOP             \
TAIL:                     \
	MASKMOV (SI), Y15, Y0 \
	MASKMOV (DX), Y15, Y1 \
	OP                    \
	MASKMOV Y0, Y15, (DI) \
	VZEROUPPER            \
	RET

#define OPADD   ADD Y1, Y0, Y0
#define OPSUB   SUB Y1, Y0, Y0
#define OPMUL   MUL Y1, Y0, Y0
#define OPDIV   DIV Y1, Y0, Y0
#define OPSCALE MUL Y14, Y0, Y0
#define OPSHIFT ADD Y14, Y0, Y0
#define OPAXPY  FMA213 Y1, Y14, Y0
#define OPRELU  MAX Y0, Y13, Y0
#define OPSTEP  CMP $1, Y0, Y13, Y0 \
	AND Y14, Y0, Y0
#define OPRECIP DIV Y0, Y14, Y0
#define OPSQRT  SQRT Y0, Y0

#define CASE(OP, LABEL) \
	CMPQ AX, $OP \
	JEQ  LABEL

// ARITHMETIC jumps to the loop of op, in the order of the constants in
// vector_amd64.go. Y15 is the mask of the tail, empty for whole vectors.
#define ARITHMETIC \
	MOVQ  op+0(FP), AX      \
	MOVQ  dst+8(FP), DI     \
	MOVQ  a+16(FP), SI      \
	MOVQ  b+24(FP), DX      \
	MOVQ  c+32(FP), R8      \
	MOVQ  n+40(FP), CX      \
	BCAST (R8), Y14         \
	VPXOR Y13, Y13, Y13     \
	MOVQ  CX, BX            \
	ANDQ  $(LANES-1), BX    \
	SHLQ  $SHIFT, BX        \
	LEAQ  ·laneMask+128(SB), R10 \
	SUBQ  BX, R10           \
	VMOVDQU (R10), Y15      \
	CASE(0, add)            \
	CASE(1, sub)            \
	CASE(2, mul)            \
	CASE(3, div)            \
	CASE(4, scale)          \
	CASE(5, shift)          \
	CASE(6, axpy)           \
	CASE(7, relu)           \
	CASE(8, step)           \
	CASE(9, recip)          \
	LOOP2(sqrt, sqrttail, OPSQRT)   \
	LOOP2(add, addtail, OPADD)      \
	LOOP2(sub, subtail, OPSUB)      \
	LOOP2(mul, multail, OPMUL)      \
	LOOP2(div, divtail, OPDIV)      \
	LOOP2(scale, scaletail, OPSCALE) \
	LOOP2(shift, shifttail, OPSHIFT) \
	LOOP2(axpy, axpytail, OPAXPY)   \
	LOOP2(relu, relutail, OPRELU)   \
	LOOP2(step, steptail, OPSTEP)   \
	LOOP2(recip, reciptail, OPRECIP)

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
	ADDQ $LANES, CX            \
	SHLQ $SHIFT, CX            \
	LEAQ ·laneMask+128(SB), AX \
	SUBQ CX, AX                \
	VMOVDQU (AX), Y15          \
	MASKMOV (SI), Y15, Y0      \
	MASKMOV (DX), Y15, Y1      \
	MASKMOV (R8), Y15, Y2      \
	FMA213  Y2, Y1, Y0         \
	MASKMOV Y0, Y15, (DI)      \
	VZEROUPPER                 \
	RET

// DOT sums x·y (SI, DX; n in CX) in Y0 to Y3, then adds up the vectors in Y0.
#define DOT \
	VPXOR Y0, Y0, Y0           \
	VPXOR Y1, Y1, Y1           \
	VPXOR Y2, Y2, Y2           \
	VPXOR Y3, Y3, Y3           \
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
	ADDQ $LANES, CX            \
	SHLQ $SHIFT, CX            \
	LEAQ ·laneMask+128(SB), AX \
	SUBQ CX, AX                \
	VMOVDQU (AX), Y15          \
	MASKMOV (SI), Y15, Y4      \
	MASKMOV (DX), Y15, Y5      \
	FMA231  Y4, Y5, Y1         \
	ADD     Y1, Y0, Y0         \
	ADD     Y3, Y2, Y2         \
	ADD     Y2, Y0, Y0

// SUM is DOT with ones.
#define SUM \
	VPXOR Y0, Y0, Y0           \
	VPXOR Y1, Y1, Y1           \
	VPXOR Y2, Y2, Y2           \
	VPXOR Y3, Y3, Y3           \
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
	ADDQ $LANES, CX            \
	SHLQ $SHIFT, CX            \
	LEAQ ·laneMask+128(SB), AX \
	SUBQ CX, AX                \
	VMOVDQU (AX), Y15          \
	MASKMOV (SI), Y15, Y4      \
	ADD     Y4, Y1, Y1         \
	ADD     Y1, Y0, Y0         \
	ADD     Y3, Y2, Y2         \
	ADD     Y2, Y0, Y0

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
	ADDQ $LANES, CX             \
	SHLQ $SHIFT, CX             \
	LEAQ ·laneMask+128(SB), AX  \
	SUBQ CX, AX                 \
	VMOVDQU (AX), Y15           \
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
