// A step of Adam, once for both element types; see names*.h.
//
// Registers: DI θ, SI m, DX v, R8 g, CX elements left; Y15 to Y7 the coefficients in
// the order of AdamCoefficients, Y6 the mask of the tail.

#include "tail_amd64.h"

#define ADAMBODY \
	FMA231 Y8, Y0, Y1    \
	MUL    Y15, Y2, Y2   \
	FMA231 Y14, Y1, Y2   \
	MUL    Y13, Y3, Y3   \
	MUL    Y12, Y1, Y4   \
	FMA231 Y4, Y1, Y3    \
	SQRT   Y3, Y4        \
	FMA213 Y9, Y10, Y4   \
	MUL    Y11, Y2, Y5   \
	DIV    Y4, Y5, Y5    \
	MUL    Y7, Y0, Y0    \
	SUB    Y5, Y0, Y0

#define ADAM \
	FLUSH                         \
	MOVQ  theta+0(FP), DI         \
	MOVQ  m+8(FP), SI             \
	MOVQ  v+16(FP), DX            \
	MOVQ  grad+24(FP), R8            \
	MOVQ  c+32(FP), R9            \
	MOVQ  n+40(FP), CX            \
	BCAST (R9), Y15               \
	BCAST (1<<SHIFT)(R9), Y14     \
	BCAST (2<<SHIFT)(R9), Y13     \
	BCAST (3<<SHIFT)(R9), Y12     \
	BCAST (4<<SHIFT)(R9), Y11     \
	BCAST (5<<SHIFT)(R9), Y10     \
	BCAST (6<<SHIFT)(R9), Y9      \
	BCAST (7<<SHIFT)(R9), Y8      \
	BCAST (8<<SHIFT)(R9), Y7      \
	SUBQ  $LANES, CX              \
	JLT   tail                    \
loop:                             \
	MOV   (DI), Y0                \
	MOV   (R8), Y1                \
	MOV   (SI), Y2                \
	MOV   (DX), Y3                \
	ADAMBODY                      \
	MOV   Y2, (SI)                \
	MOV   Y3, (DX)                \
	MOV   Y0, (DI)                \
	ADDQ  $32, DI                 \
	ADDQ  $32, SI                 \
	ADDQ  $32, DX                 \
	ADDQ  $32, R8                 \
	SUBQ  $LANES, CX              \
	JGE   loop                    \
tail:                             \
	TAILMASK(Y6)                  \
	MASKMOV (DI), Y6, Y0          \
	MASKMOV (R8), Y6, Y1          \
	MASKMOV (SI), Y6, Y2          \
	MASKMOV (DX), Y6, Y3          \
	ADAMBODY                      \
	MASKMOV Y2, Y6, (SI)          \
	MASKMOV Y3, Y6, (DX)          \
	MASKMOV Y0, Y6, (DI)          \
	UNFLUSH                       \
	VZEROUPPER                    \
	RET
