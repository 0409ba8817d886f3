// Bodies of the elementary functions, once for both element types; see names*_arm64.h. They
// follow elementary_amd64.h. The including file defines EXPPOLY and LOGPOLY. A body takes its
// argument in V0 and leaves the result there.

// UNARY applies BODY to n elements, the last few one by one.
#define UNARY(BODY) \
	MOVD dst+0(FP), R0    \
	MOVD src+8(FP), R1    \
	MOVD n+16(FP), R2     \
	MOVD $CONSTANTS, R3   \
	SUBS $LANES, R2       \
	BLT  rest             \
loop:                     \
	FMOVQ.P 16(R1), F0    \
	BODY                  \
	FMOVQ.P F0, 16(R0)    \
	SUBS $LANES, R2       \
	BGE  loop             \
rest:                     \
	ADDS $LANES, R2       \
	BEQ  done             \
single:                   \
	LOAD1.P SIZE(R1), F0  \
	BODY                  \
	LOAD1.P F0, SIZE(R0)  \
	SUBS $1, R2           \
	BNE  single           \
done:                     \
	RET

// CONST loads constant i of constants_asm.go, each of which fills four vectors.
#define CONST(i, d) VLOAD(4*(i), 3, d)
#define LOG2E    0
#define LN2HI    2
#define LN2LO    3
#define ONE      4
#define HALF     5
#define TWO      6
#define SIGN     7
#define EXPMAX   8
#define EXPMIN   9
#define TANHMAX  10
#define NORMAL   11 // smallest normal number
#define RAISE    12 // makes denormals normal
#define RAISED   13 // log2 of that
#define MANTISSA 14
#define INTEGER  15 // 2^mantissa: its low bits hold an integer
#define BIAS     16 // INTEGER and the exponent's bias
#define SQRT2    17
#define INF      18
#define NEGINF   19
#define NAN      20
#define EXPC     21 // the first coefficients
#define LOGC     33

// HORNER makes d = constant i + s·x.
#define HORNER(i, x, s, d) \
	CONST(i, d)    \
	VFMLA(s, x, d)

// REDUCE splits x = n·ln2 + r, |r| <= ln2/2: r in V0, n in V1, n as an integer in V7. V6 is
// r before the small part of n·ln2 is taken off, which is exact; V5 is that of ln2.
#define REDUCE \
	CONST(LOG2E, 1) \
	VFMUL(1, 0, 1)  \
	VFROUND(1, 1)   \
	VFTOI(1, 7)     \
	CONST(LN2HI, 5) \
	VFMLS(5, 1, 0)  \
	VCOPY(0, 6)     \
	CONST(LN2LO, 5) \
	VFMLS(5, 1, 0)

// EXPM1 computes exp(r) - 1 - V6 = r²·q(r) - n·(small part of ln2) in V2.
#define EXPM1 \
	EXPPOLY        \
	VFMUL(0, 0, 3) \
	VFMUL(3, 2, 2) \
	VFMLS(5, 1, 2)

// EXPCORE computes exp(x) for EXPMIN <= x <= EXPMAX. 2ⁿ is multiplied in two halves, so that
// results overflow and lose bits only in the last step.
#define EXPCORE \
	REDUCE                   \
	EXPM1                    \
	CONST(ONE, 1)            \
	VFADD(6, 2, 2)           \
	VFADD(1, 2, 2)           \
	VSAR(1, 7, 3)            \
	VISUB(3, 7, 4)           \
	VSHIFTL(EXPONENT, 3, 3)  \
	VSHIFTL(EXPONENT, 4, 4)  \
	VIADD(1, 3, 3)           \
	VIADD(1, 4, 4)           \
	VFMUL(3, 2, 2)           \
	VFMUL(4, 2, 0)

#define EXPBODY \
	CONST(EXPMAX, 1) \
	VFMIN(1, 0, 0)   \
	CONST(EXPMIN, 1) \
	VFMAX(1, 0, 0)   \
	EXPCORE

// With y = |x| (V9) and e = exp(2y) - 1 = 2ⁿ·expm1(r) + (2ⁿ - 1), tanh(y) = e/(2+e). For
// n = 0 that is y + (w - y·e)/(2+e), w = e - 2y, whose rounding errors are those of a small
// correction.
#define TANHBODY \
	VCOPY(0, 9)              \
	VFABS(0, 0)              \
	CONST(TANHMAX, 1)        \
	VFMIN(1, 0, 8)           \
	VFADD(8, 8, 0)           \
	REDUCE                   \
	EXPM1                    \
	VFEQZ(1, 10)             \
	VBAND(8, 10, 5)          \
	CONST(ONE, 4)            \
	VSHIFTL(EXPONENT, 7, 1)  \
	VIADD(4, 1, 1)           \
	VFSUB(4, 1, 3)           \
	VFMLA(6, 1, 3)           \
	VFMLA(2, 1, 3)           \ // e
	VFMLS(8, 3, 2)           \
	VBSEL(3, 2, 10)          \
	CONST(TWO, 1)            \
	VFADD(1, 3, 3)           \
	VFDIV(3, 10, 0)          \
	VFADD(5, 0, 0)           \
	CONST(SIGN, 1)           \
	VBINS(1, 9, 0)

// EXPMINUS computes exp(-|x|); x is kept in V8.
#define EXPMINUS \
	VCOPY(0, 8)      \
	VFABS(0, 0)      \
	VFNEG(0, 0)      \
	CONST(EXPMIN, 1) \
	VFMAX(1, 0, 0)   \
	EXPCORE

// With e = exp(-|x|): e/(1+e) where x is negative, 1/(1+e) elsewhere.
#define SIGMOIDBODY \
	EXPMINUS         \
	VFLTZ(8, 2)      \
	CONST(ONE, 1)    \
	VBSEL(1, 0, 2)   \
	VFADD(1, 0, 0)   \
	VFDIV(0, 2, 0)

// LOGCORE computes k·ln2 + log(1+f), k in V1, f in V0, -0.3 < f <= 0.5. With s = f/(2+f),
// log(1+f) = 2·atanh(s) = f - (f²/2 - s·(f²/2 + s²·L(s²))).
#define LOGCORE \
	CONST(TWO, 2)   \
	VFADD(0, 2, 2)  \
	VFDIV(2, 0, 2)  \
	VFMUL(2, 2, 3)  \
	LOGPOLY         \
	VFMUL(0, 0, 5)  \
	CONST(HALF, 6)  \
	VFMUL(6, 5, 5)  \
	VCOPY(5, 6)     \
	VFMLA(3, 4, 6)  \
	VFMUL(2, 6, 6)  \
	CONST(LN2LO, 4) \
	VFMLA(4, 1, 6)  \
	VFSUB(6, 5, 5)  \
	VFSUB(5, 0, 0)  \
	CONST(LN2HI, 4) \
	VFMLA(4, 1, 0)

// x = 2^k·m with sqrt(1/2) < m <= sqrt(2); x is kept in V8.
#define LOGBODY \
	VCOPY(0, 8)             \
	CONST(NORMAL, 1)        \
	VFCMGT(0, 1, 9)         \
	CONST(RAISE, 1)         \
	VFMUL(1, 0, 1)          \
	VBINS(9, 1, 0)          \
	CONST(RAISED, 7)        \
	VBAND(9, 7, 7)          \
	VSHIFTR(EXPONENT, 0, 1) \
	CONST(INTEGER, 2)       \
	VBOR(2, 1, 1)           \
	CONST(BIAS, 2)          \
	VFSUB(2, 1, 1)          \
	VFSUB(7, 1, 1)          \
	CONST(MANTISSA, 2)      \
	VBAND(2, 0, 0)          \
	CONST(ONE, 3)           \
	VBOR(3, 0, 0)           \
	CONST(SQRT2, 2)         \
	VFCMGT(2, 0, 9)         \
	VBAND(9, 3, 2)          \
	VFADD(2, 1, 1)          \
	CONST(HALF, 2)          \
	VFMUL(2, 0, 2)          \
	VBINS(9, 2, 0)          \
	VFSUB(3, 0, 0)          \
	LOGCORE                 \
	CONST(INF, 1)           \
	VFCMGT(8, 1, 9)         \
	VBKEEP(9, 8, 0)         \ // not less than Inf: Inf or NaN
	VFLTZ(8, 9)             \
	CONST(NAN, 1)           \
	VBINS(9, 1, 0)          \
	VFEQZ(8, 9)             \
	CONST(NEGINF, 1)        \
	VBINS(9, 1, 0)

// max(x, 0) + log(1+e), e = exp(-|x|); for e >= 1/2 as ln2 + log(1 + (e-1)/2).
#define SOFTPLUSBODY \
	EXPMINUS         \
	CONST(HALF, 3)   \
	VFCMGE(3, 0, 9)  \
	CONST(ONE, 4)    \
	VBAND(9, 4, 1)   \
	VFSUB(4, 0, 2)   \
	VFMUL(3, 2, 2)   \
	VBINS(9, 2, 0)   \
	LOGCORE          \
	VZERO(2)         \
	VFMAX(8, 2, 2)   \
	VFADD(2, 0, 0)

// Functions of n elements, which ELEMENTARY jumps to.

TEXT exp<>(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

TEXT tanh<>(SB), NOSPLIT, $0-24
	UNARY(TANHBODY)

TEXT sigmoid<>(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

TEXT log<>(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

TEXT softplus<>(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)

// ELEMENTARY jumps to function f, in the order of the constants in unary.go.
#define ELEMENTARY \
	MOVD f+24(FP), R0    \
	CMP  $1, R0          \
	BLT  tanh            \
	BEQ  exp             \
	CMP  $3, R0          \
	BLT  log             \
	BEQ  softplus        \
	B    sigmoid<>(SB)   \
tanh:                    \
	B    tanh<>(SB)      \
exp:                     \
	B    exp<>(SB)       \
log:                     \
	B    log<>(SB)       \
softplus:                \
	B    softplus<>(SB)
