// Micro-kernels of products whose factors are found through a table of steps, once for both
// element types; see names*_arm64.h.
//
// They compute up to 4 rows of up to three pairs of vectors. Row r is summed in V(6r) to
// V(6r+5). V24 to V29 hold B, V30 and V31 elements of A.
//
// Registers: R0 steps left, R1 the next step, R2 to R5 the rows of A, R6 to R8 the pairs of
// B, R9 C, R10 bytes between rows of C, R11 rows, R12 pairs, R13 and R14 where the step finds
// A and B.

#define TIMES(a, r, p) \
	VFMLAE(a, 0, 24+2*(p), 6*(r)+2*(p)) \
	VFMLAE(a, 0, 25+2*(p), 6*(r)+2*(p)+1)

#define PAIRS1(a, r) TIMES(a, r, 0)
#define PAIRS2(a, r) TIMES(a, r, 0) ; TIMES(a, r, 1)
#define PAIRS3(a, r) TIMES(a, r, 0) ; TIMES(a, r, 1) ; TIMES(a, r, 2)

// Elements of A are read ahead of the products before them.
#define LOADA(row, d) LOAD1 (row)(R13<<SHIFT), d
#define ROWS1(pairs) LOADA(R2, F30) ; pairs(30, 0)
#define ROWS2(pairs) LOADA(R2, F30) ; LOADA(R3, F31) ; pairs(30, 0) ; pairs(31, 1)
#define ROWS3(pairs) \
	LOADA(R2, F30) ; LOADA(R3, F31) ; pairs(30, 0) ; LOADA(R4, F30) ; pairs(31, 1) ; pairs(30, 2)
#define ROWS4(pairs) \
	LOADA(R2, F30) ; LOADA(R3, F31) ; pairs(30, 0) ; LOADA(R4, F30) ; pairs(31, 1) ; LOADA(R5, F31) \
	pairs(30, 2) ; pairs(31, 3)

#define LOADB1 ADD R14<<SHIFT, R6, R15 ; FLDPQ (R15), (F24, F25)
#define LOADB2 LOADB1 ; ADD R14<<SHIFT, R7, R15 ; FLDPQ (R15), (F26, F27)
#define LOADB3 LOADB2 ; ADD R14<<SHIFT, R8, R15 ; FLDPQ (R15), (F28, F29)

#define STEPS(label, load, rows, pairs) \
label:                         \
	LDPSW.P 8(R1), (R13, R14)  \
	load                       \
	SUBS $1, R0                \
	rows(pairs)                \
	BNE  label                 \
	B    store

// HEIGHTS is a loop for each number of rows.
#define HEIGHTS(four, three, two, one, load, pairs) \
	CMP $2, R11 \
	BLT one     \
	BEQ two     \
	CMP $4, R11 \
	BLT three   \
	STEPS(four, load, ROWS4, pairs)  \
	STEPS(three, load, ROWS3, pairs) \
	STEPS(two, load, ROWS2, pairs)   \
	STEPS(one, load, ROWS1, pairs)

#define CLEAR(r) \
	VZERO(6*(r))   \
	VZERO(6*(r)+1) \
	VZERO(6*(r)+2) \
	VZERO(6*(r)+3) \
	VZERO(6*(r)+4) \
	VZERO(6*(r)+5)

#define NEXTROW(done) \
	ADD  R10, R9 \
	SUBS $1, R11 \
	BEQ  done

// A pair that does not exist is not stored.
#define PUT(r, last) \
	VSTORE2(0, 9, 6*(r), 6*(r)+1)   \
	CMP  $2, R12                    \
	BLT  last                       \
	VSTORE2(2, 9, 6*(r)+2, 6*(r)+3) \
	BEQ  last                       \
	VSTORE2(4, 9, 6*(r)+4, 6*(r)+5) \
last:                               \
	NEXTROW(done)

#define PLUSPAIR(at, d) \
	VLOAD2(at, 9, 24, 25)  \
	VFADD(24, d, d)        \
	VFADD(25, (d)+1, (d)+1)

#define PLUS(r, last) \
	PLUSPAIR(0, 6*(r))   \
	CMP  $2, R12         \
	BLT  last            \
	PLUSPAIR(2, 6*(r)+2) \
	BEQ  last            \
	PLUSPAIR(4, 6*(r)+4) \
last:

#define WINDOW \
	MOVD count+0(FP), R0    \
	MOVD steps+8(FP), R1    \
	MOVD a+16(FP), R2       \
	MOVD arow+24(FP), R15   \
	MOVD b0+32(FP), R6      \
	MOVD b1+40(FP), R7      \
	MOVD b2+48(FP), R8      \
	MOVD c+56(FP), R9       \
	MOVD ldc+64(FP), R10    \
	MOVD rows+72(FP), R11   \
	MOVD pairs+80(FP), R12  \
	LSL  $SHIFT, R10        \
	ADD  R15<<SHIFT, R2, R3 \
	ADD  R15<<SHIFT, R3, R4 \
	ADD  R15<<SHIFT, R4, R5 \
	CLEAR(0)                \
	CLEAR(1)                \
	CLEAR(2)                \
	CLEAR(3)                \
	CMP  $2, R12            \
	BLT  narrow             \
	BEQ  middle             \
	HEIGHTS(wide4, wide3, wide2, wide1, LOADB3, PAIRS3)         \
middle:                     \
	HEIGHTS(middle4, middle3, middle2, middle1, LOADB2, PAIRS2) \
narrow:                     \
	HEIGHTS(narrow4, narrow3, narrow2, narrow1, LOADB1, PAIRS1) \
store:                      \
	MOVD add+88(FP), R15    \
	CBZ  R15, put           \
	MOVD R9, R14            \
	MOVD R11, R13           \
	PLUS(0, plus0)          \
	NEXTROW(added)          \
	PLUS(1, plus1)          \
	NEXTROW(added)          \
	PLUS(2, plus2)          \
	NEXTROW(added)          \
	PLUS(3, plus3)          \
added:                      \
	MOVD R14, R9            \
	MOVD R13, R11           \
put:                        \
	PUT(0, put0)            \
	PUT(1, put1)            \
	PUT(2, put2)            \
	PUT(3, put3)            \
done:                       \
	RET
