// Bodies of the elementary functions, once for both element types and both
// widths of vectors: see names*.h and avx*.h. The including file defines EXPPOLY
// and LOGPOLY. A body takes its argument in V0 and leaves the result there.

#include "flush_amd64.h"

// UNARY applies BODY to n elements. FLUSHED does so with subnormal numbers, which the
// body may meet on its way, as zero.
#define UNARY(BODY) \
	EACH(BODY)          \
	VZEROUPPER          \
	RET

#define FLUSHED(BODY) \
	FLUSH               \
	EACH(BODY)          \
	UNFLUSH             \
	VZEROUPPER          \
	RET

// EACH does the last few elements under a mask.
#define EACH(BODY) \
	MOVQ dst+0(FP), DI  \
	MOVQ src+8(FP), SI  \
	MOVQ n+16(FP), CX   \
	LEAQ CONSTANTS, R9  \
	SHLQ $SHIFT, CX     \
	SUBQ $WIDTH, CX     \
	JLT  tail           \
	PCALIGN $32         \
loop:                   \
	MOV  (SI), V0       \
	BODY                \
	MOV  V0, (DI)       \
	ADDQ $WIDTH, SI     \
	ADDQ $WIDTH, DI     \
	SUBQ $WIDTH, CX     \
	JGE  loop           \
tail:                   \
	ADDQ $WIDTH, CX     \
	JEQ  done           \
	TAIL                \
	LOADTAIL((SI), V0)  \
	BODY                \
	STORETAIL(V0, (DI)) \
done:

// Constants, in the order of constants_amd64.go.
#define LOG2E   (0*64)(R9)
#define MAGIC   (1*64)(R9)  // 1.5·2^mantissa: adding it rounds to an integer
#define LN2HI   (2*64)(R9)
#define LN2LO   (3*64)(R9)
#define ONE     (4*64)(R9)
#define HALF    (5*64)(R9)
#define TWO     (6*64)(R9)
#define SIGN    (7*64)(R9)
#define EXPMAX  (8*64)(R9)
#define EXPMIN  (9*64)(R9)
#define TANHMAX (10*64)(R9)
#define NORMAL  (11*64)(R9) // smallest normal number
#define RAISE   (12*64)(R9) // makes denormals normal
#define RAISED  (13*64)(R9) // log2 of that
#define MANTISSA (14*64)(R9)
#define INTEGER (15*64)(R9) // 2^mantissa: its low bits hold an integer
#define BIAS    (16*64)(R9) // INTEGER and the exponent's bias
#define SQRT2   (17*64)(R9)
#define INF     (18*64)(R9)
#define NEGINF  (19*64)(R9)
#define NAN     (20*64)(R9)
#define EXPC(i) ((21+i)*64)(R9)
#define LOGC(i) ((33+i)*64)(R9)

// REDUCE splits x = n·ln2 + r, |r| <= ln2/2: r in V0, n in V1. V6 is r before
// the small part of n·ln2 is taken off, which is exact.
#define REDUCE \
	MOV     LOG2E, V1      \
	FMA213  MAGIC, V0, V1  \
	SUB     MAGIC, V1, V1  \
	FNMA231 LN2HI, V1, V0  \
	MOV     V0, V6         \
	FNMA231 LN2LO, V1, V0

// EXPM1 computes exp(r) - 1 - V6 = r²·q(r) - n·(small part of ln2) in V2.
#define EXPM1 \
	EXPPOLY               \
	MUL     V0, V0, V3    \
	MUL     V3, V2, V2    \
	FNMA231 LN2LO, V1, V2

// EXPCORE computes exp(x) for EXPMIN <= x <= EXPMAX. 2ⁿ is multiplied in two
// halves, so that results overflow and lose bits only in the last step.
#define EXPCORE \
	REDUCE                \
	EXPM1                 \
	ADD    V6, V2, V2     \
	ADD    ONE, V2, V2    \
	MOV    HALF, V3       \
	FMA213 MAGIC, V1, V3  \
	SUB    MAGIC, V3, V4  \
	SUB    V4, V1, V5     \
	ADD    MAGIC, V5, V5  \
	SHL    $EXPONENT, V3, V3 \
	SHL    $EXPONENT, V5, V5 \
	IADD   ONE, V3, V3    \
	IADD   ONE, V5, V5    \
	MUL    V3, V2, V2     \
	MUL    V5, V2, V0

// MIN and MAX return the operand written first if either is NaN.
#define EXPBODY \
	MOV EXPMAX, V1   \
	MIN V0, V1, V0   \
	MOV EXPMIN, V1   \
	MAX V0, V1, V0   \
	EXPCORE

// With y = |x| and e = exp(2y) - 1 = 2ⁿ·expm1(r) + (2ⁿ - 1), tanh(y) = e/(2+e).
// For n = 0 that is y + (w - y·e)/(2+e), w = e - 2y, whose rounding errors are
// those of a small correction. Where y is subnormal it is the result.
#define TANHBODY \
	MOV     SIGN, V5          \
	AND     V5, V0, V7        \
	ANDN    V0, V5, V0        \
	MOV     V0, V9            \
	MOV     TANHMAX, V1       \
	MIN     V0, V1, V8        \
	ADD     V8, V8, V0        \
	REDUCE                    \
	EXPM1                     \
	XOR     V4, V4, V4        \
	CMP     $0, V4, V1, MASK  \ // n = 0
	SELECTZERO(V8, V5)        \
	ADD     MAGIC, V1, V1     \
	SHL     $EXPONENT, V1, V1 \
	IADD    ONE, V1, V1       \
	SUB     ONE, V1, V3       \
	FMA231  V6, V1, V3        \
	FMA231  V2, V1, V3        \ // e
	FNMA231 V8, V3, V2        \
	SELECT(V2, V3, V2)        \
	ADD     TWO, V3, V3       \
	DIV     V3, V2, V0        \
	ADD     V5, V0, V0        \
	MOV     NORMAL, V1        \
	CMP     $1, V1, V9, MASK  \
	SELECT(V9, V0, V0)        \
	OR      V7, V0, V0

// EXPMINUS computes exp(-|x|); x is kept in V8.
#define EXPMINUS \
	MOV V0, V8       \
	OR  SIGN, V0, V0 \
	MOV EXPMIN, V1   \
	MAX V0, V1, V0   \
	EXPCORE

// With e = exp(-|x|): e/(1+e) where x is negative, 1/(1+e) elsewhere.
#define SIGMOIDBODY \
	EXPMINUS               \
	XOR V2, V2, V2         \
	CMP $1, V2, V8, MASK   \
	MOV ONE, V1            \
	SELECT(V0, V1, V2)     \
	ADD V1, V0, V0         \
	DIV V0, V2, V0

// LOGCORE computes k·ln2 + log(1+f), k in V1, f in V0, -0.3 < f <= 0.5. With
// s = f/(2+f), log(1+f) = 2·atanh(s) = f - (f²/2 - s·(f²/2 + s²·L(s²))): the
// arrangement of FreeBSD's e_log.c, which keeps the rounding errors small.
#define LOGCORE \
	ADD     TWO, V0, V2   \
	DIV     V2, V0, V2    \
	MUL     V2, V2, V3    \
	LOGPOLY               \
	MUL     V0, V0, V5    \
	MUL     HALF, V5, V5  \
	FMA213  V5, V3, V4    \
	MUL     V2, V4, V4    \
	FMA231  LN2LO, V1, V4 \
	SUB     V4, V5, V5    \
	SUB     V0, V5, V5    \
	MOV     LN2HI, V0     \
	FMS213  V5, V1, V0

// x = 2^k·m with sqrt(1/2) < m <= sqrt(2); x is kept in V8.
#define LOGBODY \
	MOV V0, V8                \
	CMP $1, NORMAL, V0, MASK  \
	MUL RAISE, V0, V1         \
	SELECT(V1, V0, V0)        \
	SELECTZERO(RAISED, V7)    \
	SHR $EXPONENT, V0, V1     \
	OR  INTEGER, V1, V1       \
	SUB BIAS, V1, V1          \
	SUB V7, V1, V1            \
	AND MANTISSA, V0, V0      \
	OR  ONE, V0, V0           \
	CMP $14, SQRT2, V0, MASK  \
	SELECTZERO(ONE, V2)       \
	ADD V2, V1, V1            \
	MUL HALF, V0, V2          \
	SELECT(V2, V0, V0)        \
	SUB ONE, V0, V0           \
	LOGCORE                   \
	CMP $5, INF, V8, MASK     \ // not less than Inf: Inf or NaN
	SELECT(V8, V0, V0)        \
	XOR V2, V2, V2            \
	CMP $1, V2, V8, MASK      \ // negative
	SELECT(NAN, V0, V0)       \
	CMP $0, V2, V8, MASK      \
	SELECT(NEGINF, V0, V0)

// max(x, 0) + log(1+e), e = exp(-|x|); for e >= 1/2 as ln2 + log(1 + (e-1)/2).
#define SOFTPLUSBODY \
	EXPMINUS                 \
	CMP $13, HALF, V0, MASK  \
	SELECTZERO(ONE, V1)      \
	SUB ONE, V0, V2          \
	MUL HALF, V2, V2         \
	SELECT(V2, V0, V0)       \
	LOGCORE                  \
	XOR V2, V2, V2           \
	MAX V8, V2, V2           \
	ADD V2, V0, V0

// Functions of n elements, which ELEMENTARY jumps to.

TEXT exp<>(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

TEXT tanh<>(SB), NOSPLIT, $8-24
	FLUSHED(TANHBODY)

TEXT sigmoid<>(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

TEXT log<>(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

TEXT softplus<>(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)

// ELEMENTARY jumps to function f, in the order of the constants in unary.go.
#define ELEMENTARY \
	MOVQ f+24(FP), AX    \
	CMPQ AX, $1          \
	JLT  tanh            \
	JEQ  exp             \
	CMPQ AX, $3          \
	JLT  log             \
	JEQ  softplus        \
	JMP  sigmoid<>(SB)   \
tanh:                    \
	JMP  tanh<>(SB)      \
exp:                     \
	JMP  exp<>(SB)       \
log:                     \
	JMP  log<>(SB)       \
softplus:                \
	JMP  softplus<>(SB)
