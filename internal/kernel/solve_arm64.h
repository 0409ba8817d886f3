// Substitution with a lower triangle of eight unknowns, once for both element types; see
// names*_arm64.h.
//
// L (R0) is 8×8, row after row, with reciprocals on the diagonal. Unknown i of a vector of
// systems is row i of B, at R(4+i). It is held in Vi, and in V(16+i) where there are two
// vectors.

// FINISH multiplies unknown j by the reciprocal of its diagonal element. LESS subtracts the
// share of unknown j from unknown i.
#define FINISH1(j) VLOADE(9*(j), 0, 30) ; VFMULE(30, 0, j, j)
#define FINISH2(j) FINISH1(j) ; VFMULE(30, 0, 16+(j), 16+(j))
#define LESS1(i, j) VLOADE(8*(i)+(j), 0, 31) ; VFMLSE(31, 0, j, i)
#define LESS2(i, j) LESS1(i, j) ; VFMLSE(31, 0, 16+(j), 16+(i))

#define SUBSTITUTE(FINISH, LESS) \
	FINISH(0)  \
	LESS(1, 0) \
	LESS(2, 0) \
	LESS(3, 0) \
	LESS(4, 0) \
	LESS(5, 0) \
	LESS(6, 0) \
	LESS(7, 0) \
	FINISH(1)  \
	LESS(2, 1) \
	LESS(3, 1) \
	LESS(4, 1) \
	LESS(5, 1) \
	LESS(6, 1) \
	LESS(7, 1) \
	FINISH(2)  \
	LESS(3, 2) \
	LESS(4, 2) \
	LESS(5, 2) \
	LESS(6, 2) \
	LESS(7, 2) \
	FINISH(3)  \
	LESS(4, 3) \
	LESS(5, 3) \
	LESS(6, 3) \
	LESS(7, 3) \
	FINISH(4)  \
	LESS(5, 4) \
	LESS(6, 4) \
	LESS(7, 4) \
	FINISH(5)  \
	LESS(6, 5) \
	LESS(7, 5) \
	FINISH(6)  \
	LESS(7, 6) \
	FINISH(7)

#define SOLVE8 \
	MOVD l+0(FP), R0           \
	MOVD b+8(FP), R4           \
	MOVD ldb+16(FP), R2        \
	MOVD n+24(FP), R3          \
	LSL  $SHIFT, R2            \
	ADD  R2, R4, R5            \
	ADD  R2, R5, R6            \
	ADD  R2, R6, R7            \
	ADD  R2, R7, R8            \
	ADD  R2, R8, R9            \
	ADD  R2, R9, R10           \
	ADD  R2, R10, R11          \
	SUBS $(2*LANES), R3        \
	BLT  rest                  \
loop:                          \
	FLDPQ (R4), (F0, F16)      \
	FLDPQ (R5), (F1, F17)      \
	FLDPQ (R6), (F2, F18)      \
	FLDPQ (R7), (F3, F19)      \
	FLDPQ (R8), (F4, F20)      \
	FLDPQ (R9), (F5, F21)      \
	FLDPQ (R10), (F6, F22)     \
	FLDPQ (R11), (F7, F23)     \
	SUBSTITUTE(FINISH2, LESS2) \
	FSTPQ.P (F0, F16), 32(R4)  \
	FSTPQ.P (F1, F17), 32(R5)  \
	FSTPQ.P (F2, F18), 32(R6)  \
	FSTPQ.P (F3, F19), 32(R7)  \
	FSTPQ.P (F4, F20), 32(R8)  \
	FSTPQ.P (F5, F21), 32(R9)  \
	FSTPQ.P (F6, F22), 32(R10) \
	FSTPQ.P (F7, F23), 32(R11) \
	SUBS $(2*LANES), R3        \
	BGE  loop                  \
rest:                          \
	ADDS $(2*LANES), R3        \
	BEQ  done                  \
single:                        \
	LOAD1 (R4), F0             \
	LOAD1 (R5), F1             \
	LOAD1 (R6), F2             \
	LOAD1 (R7), F3             \
	LOAD1 (R8), F4             \
	LOAD1 (R9), F5             \
	LOAD1 (R10), F6            \
	LOAD1 (R11), F7            \
	SUBSTITUTE(FINISH1, LESS1) \
	LOAD1.P F0, SIZE(R4)       \
	LOAD1.P F1, SIZE(R5)       \
	LOAD1.P F2, SIZE(R6)       \
	LOAD1.P F3, SIZE(R7)       \
	LOAD1.P F4, SIZE(R8)       \
	LOAD1.P F5, SIZE(R9)       \
	LOAD1.P F6, SIZE(R10)      \
	LOAD1.P F7, SIZE(R11)      \
	SUBS $1, R3                \
	BNE  single                \
done:                          \
	RET
