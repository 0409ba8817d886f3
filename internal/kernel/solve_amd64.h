// Substitution with a lower triangle of eight unknowns, once for both element
// types; see names*.h.
//
// L (SI) is 8×8, row after row, with reciprocals on the diagonal. Unknown i of
// a vector of systems is row i of B (DI, R8 bytes apart); it is held in Yi.

// FINISH multiplies unknown j by the reciprocal of its diagonal element.
#define FINISH(j, x) \
	BCAST ((9*j)*SIZE)(SI), Y8 \
	MUL   Y8, x, x

// LESS subtracts the share of unknown j, in x, from unknown i, in y.
#define LESS(i, j, x, y) \
	BCAST ((8*i+j)*SIZE)(SI), Y9 \
	FNMA231 Y9, x, y

#define SUBSTITUTE \
	FINISH(0, Y0)        \
	LESS(1, 0, Y0, Y1)   \
	LESS(2, 0, Y0, Y2)   \
	LESS(3, 0, Y0, Y3)   \
	LESS(4, 0, Y0, Y4)   \
	LESS(5, 0, Y0, Y5)   \
	LESS(6, 0, Y0, Y6)   \
	LESS(7, 0, Y0, Y7)   \
	FINISH(1, Y1)        \
	LESS(2, 1, Y1, Y2)   \
	LESS(3, 1, Y1, Y3)   \
	LESS(4, 1, Y1, Y4)   \
	LESS(5, 1, Y1, Y5)   \
	LESS(6, 1, Y1, Y6)   \
	LESS(7, 1, Y1, Y7)   \
	FINISH(2, Y2)        \
	LESS(3, 2, Y2, Y3)   \
	LESS(4, 2, Y2, Y4)   \
	LESS(5, 2, Y2, Y5)   \
	LESS(6, 2, Y2, Y6)   \
	LESS(7, 2, Y2, Y7)   \
	FINISH(3, Y3)        \
	LESS(4, 3, Y3, Y4)   \
	LESS(5, 3, Y3, Y5)   \
	LESS(6, 3, Y3, Y6)   \
	LESS(7, 3, Y3, Y7)   \
	FINISH(4, Y4)        \
	LESS(5, 4, Y4, Y5)   \
	LESS(6, 4, Y4, Y6)   \
	LESS(7, 4, Y4, Y7)   \
	FINISH(5, Y5)        \
	LESS(6, 5, Y5, Y6)   \
	LESS(7, 5, Y5, Y7)   \
	FINISH(6, Y6)        \
	LESS(7, 6, Y6, Y7)   \
	FINISH(7, Y7)

// DI points at row 0, R10 at row 3, R11 at row 6; R8 may be negative.
#define ROWPOINTERS \
	LEAQ (R8)(R8*2), AX \
	LEAQ (DI)(AX*1), R10 \
	LEAQ (R10)(AX*1), R11

#define SOLVE8 \
	MOVQ l+0(FP), SI           \
	MOVQ b+8(FP), DI           \
	MOVQ ldb+16(FP), R8        \
	MOVQ n+24(FP), CX          \
	SHLQ $SHIFT, R8            \
	SHLQ $SHIFT, CX            \
	ROWPOINTERS                \
	SUBQ $32, CX               \
	JLT  tail                  \
loop:                          \
	MOV  (DI), Y0              \
	MOV  (DI)(R8*1), Y1        \
	MOV  (DI)(R8*2), Y2        \
	MOV  (R10), Y3             \
	MOV  (R10)(R8*1), Y4       \
	MOV  (R10)(R8*2), Y5       \
	MOV  (R11), Y6             \
	MOV  (R11)(R8*1), Y7       \
	SUBSTITUTE                 \
	MOV  Y0, (DI)              \
	MOV  Y1, (DI)(R8*1)        \
	MOV  Y2, (DI)(R8*2)        \
	MOV  Y3, (R10)             \
	MOV  Y4, (R10)(R8*1)       \
	MOV  Y5, (R10)(R8*2)       \
	MOV  Y6, (R11)             \
	MOV  Y7, (R11)(R8*1)       \
	ADDQ $32, DI               \
	ADDQ $32, R10              \
	ADDQ $32, R11              \
	SUBQ $32, CX               \
	JGE  loop                  \
tail:                          \
	ADDQ $32, CX               \
	JEQ  done                  \
	LEAQ ·laneMask+128(SB), AX \
	SUBQ CX, AX                \
	VMOVDQU (AX), Y15          \
	MASKMOV (DI), Y15, Y0        \
	MASKMOV (DI)(R8*1), Y15, Y1  \
	MASKMOV (DI)(R8*2), Y15, Y2  \
	MASKMOV (R10), Y15, Y3       \
	MASKMOV (R10)(R8*1), Y15, Y4 \
	MASKMOV (R10)(R8*2), Y15, Y5 \
	MASKMOV (R11), Y15, Y6       \
	MASKMOV (R11)(R8*1), Y15, Y7 \
	SUBSTITUTE                   \
	MASKMOV Y0, Y15, (DI)        \
	MASKMOV Y1, Y15, (DI)(R8*1)  \
	MASKMOV Y2, Y15, (DI)(R8*2)  \
	MASKMOV Y3, Y15, (R10)       \
	MASKMOV Y4, Y15, (R10)(R8*1) \
	MASKMOV Y5, Y15, (R10)(R8*2) \
	MASKMOV Y6, Y15, (R11)       \
	MASKMOV Y7, Y15, (R11)(R8*1) \
done:                          \
	VZEROUPPER                 \
	RET
