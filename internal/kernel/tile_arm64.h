// Micro-kernels of the matrix product, once for both element types; see names*_arm64.h.
//
// They compute up to 12 rows of two vectors. Row r is summed in V(2r) and V(2r+1). V24 and
// V25 hold B, V26 to V31 a step of A. The including file defines LOADA4, LOADA8 and LOADA12.
//
// Registers: R0 steps left, R1 A, R2 B, R3 bytes between rows of B, R4 C, R5 bytes between
// rows of C, R6 rows.

#define ROW(r) VFMLAE(26, r, 24, 2*(r)) ; VFMLAE(26, r, 25, 2*(r)+1)
#define ROWS4(r) ROW(r) ; ROW(r+1) ; ROW(r+2) ; ROW(r+3)
#define ROWS8 ROWS4(0) ; ROWS4(4)
#define ROWS12 ROWS8 ; ROWS4(8)

#define CLEAR(r) VZERO(2*(r)) ; VZERO(2*(r)+1)

// V26 begins with alpha.
#define PUT(r) \
	VFMULE(26, 0, 2*(r), 2*(r))     \
	VFMULE(26, 0, 2*(r)+1, 2*(r)+1) \
	VSTORE2(0, 4, 2*(r), 2*(r)+1)   \
	ADD  R5, R4                     \
	SUBS $1, R6                     \
	BEQ  done

#define PLUS(r) \
	VLOAD2(0, 4, 24, 25)         \
	VFMLAE(26, 0, 2*(r), 24)     \
	VFMLAE(26, 0, 2*(r)+1, 25)   \
	VSTORE2(0, 4, 24, 25)        \
	ADD  R5, R4                  \
	SUBS $1, R6                  \
	BEQ  done

#define TWELVE(op) \
	op(0)  \
	op(1)  \
	op(2)  \
	op(3)  \
	op(4)  \
	op(5)  \
	op(6)  \
	op(7)  \
	op(8)  \
	op(9)  \
	op(10) \
	op(11)

#define STEPS(label, load, rows) \
label:                    \
	VLOAD2(0, 2, 24, 25)  \
	load                  \
	ADD  R3, R2           \
	ADD  $(12*SIZE), R1   \
	SUBS $1, R0           \
	rows                  \
	BNE  label            \
	B    store

#define TILE \
	MOVD k+0(FP), R0      \
	MOVD a+16(FP), R1     \
	MOVD b+24(FP), R2     \
	MOVD ldb+32(FP), R3   \
	MOVD c+40(FP), R4     \
	MOVD ldc+48(FP), R5   \
	MOVD rows+56(FP), R6  \
	LSL  $SHIFT, R3       \
	LSL  $SHIFT, R5       \
	TWELVE(CLEAR)         \
	CMP  $8, R6           \
	BGT  twelve           \
	CMP  $4, R6           \
	BGT  eight            \
	STEPS(four, LOADA4, ROWS4(0)) \
	STEPS(eight, LOADA8, ROWS8)   \
	STEPS(twelve, LOADA12, ROWS12) \
store:                    \
	LOAD1 alpha+8(FP), F26 \
	MOVD  add+64(FP), R7  \
	CBNZ  R7, plus        \
	TWELVE(PUT)           \
plus:                     \
	TWELVE(PLUS)          \
done:                     \
	RET
