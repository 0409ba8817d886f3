// The error function of float32. The including file has included elementary_amd64.h.

#define ERFC(i) ((42+i)*64)(R9)
#define ERFSPLIT (55*64)(R9)
#define ERFMAX (56*64)(R9)

// ERFBODY computes x + x·P(x²), in V9, below the split, and 1 - exp(-y - y·Q(y)), y = |x|, above. x is kept in V8.
#define ERFBODY \
	MOV    V0, V8           \
	MUL    V0, V0, V3       \
	MOV    ERFC(0), V9      \
	FMA213 ERFC(1), V3, V9  \
	FMA213 ERFC(2), V3, V9  \
	FMA213 ERFC(3), V3, V9  \
	FMA213 ERFC(4), V3, V9  \
	FMA213 ERFC(5), V3, V9  \
	FMA213 V8, V8, V9       \
	MOV    SIGN, V1         \
	ANDN   V8, V1, V7       \
	MOV    ERFMAX, V1       \
	MIN    V7, V1, V7       \
	MUL    V7, V7, V3       \
	MOV    ERFC(6), V0      \
	FMA213 ERFC(7), V7, V0  \
	MOV    ERFC(8), V1      \
	FMA213 ERFC(9), V7, V1  \
	FMA213 V1, V3, V0       \
	FMA213 ERFC(10), V7, V0 \
	FMA213 ERFC(11), V7, V0 \
	FMA213 ERFC(12), V7, V0 \
	FMS213 V7, V7, V0       \
	EXPCORE                 \
	MOV    ONE, V1          \
	SUB    V0, V1, V0       \
	AND    SIGN, V8, V1     \
	OR     V1, V0, V0       \
	CMP    $1, ERFSPLIT, V7, MASK \
	SELECT(V9, V0, V0)

TEXT erf<>(SB), NOSPLIT, $0-24
	UNARY(ERFBODY)

// ELEMENTARY32 is ELEMENTARY with the error function.
#define ELEMENTARY32 \
	MOVQ f+24(FP), AX    \
	CMPQ AX, $7          \
	JEQ  erf             \
	ELEMENTARY           \
erf:                     \
	JMP  erf<>(SB)
