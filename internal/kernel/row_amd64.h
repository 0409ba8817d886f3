// Products of a single row with a matrix, AVX2, once for both element types; see names*.h. Each element
// is summed step by step, as in tile_amd64.h.
//
// Registers: R10 steps, DX the row, R9 bytes between its elements, SI the matrix, R8 bytes between its
// rows, DI the result, CX columns left, R14 bytes from the first four vectors of eight to the others. R11
// to R13 go through the steps, as BX does for the other four vectors. Y0 to Y7 are sums.

#include "flush_amd64.h"

#define LANES (32/SIZE)

#define ROWARGS \
	FLUSH                   \
	MOVQ y+0(FP), DI        \
	MOVQ b+8(FP), SI        \
	MOVQ ldb+16(FP), R8     \
	MOVQ x+24(FP), DX       \
	MOVQ xstep+32(FP), R9   \
	MOVQ k+40(FP), R10      \
	MOVQ n+48(FP), CX       \
	MOVQ half+56(FP), R14   \
	SHLQ $SHIFT, R8         \
	SHLQ $SHIFT, R9         \
	SHLQ $SHIFT, R14

#define FIRSTSTEP \
	MOVQ SI, R11   \
	MOVQ DX, R12   \
	MOVQ R10, R13

#define NEXTSTEP(label) \
	ADDQ R8, R11   \
	ADDQ R9, R12   \
	DECQ R13       \
	JNZ  label

#define CLEAR4(a, b, c, d) \
	VPXOR a, a, a \
	VPXOR b, b, b \
	VPXOR c, c, c \
	VPXOR d, d, d

#define LOAD4 \
	MOV (DI), Y0    \
	MOV 32(DI), Y1  \
	MOV 64(DI), Y2  \
	MOV 96(DI), Y3

#define STORE4 \
	MOV Y0, (DI)    \
	MOV Y1, 32(DI)  \
	MOV Y2, 64(DI)  \
	MOV Y3, 96(DI)

// NEXTCOLUMNS goes on to the next count columns. If fewer are left, they are computed once more with
// those before them.
#define NEXTCOLUMNS(count, label) \
	ADDQ $(SIZE*(count)), SI \
	ADDQ $(SIZE*(count)), DI \
	SUBQ $(count), CX        \
	JEQ  done                \
	MOVQ CX, AX              \
	SUBQ $(count), AX        \
	JGE  label               \
	SHLQ $SHIFT, AX          \
	ADDQ AX, SI              \
	ADDQ AX, DI              \
	MOVQ $(count), CX        \
	JMP  label

// ROWTIMES goes on from the sums in the result if add is 1; the columns are then whole eights of
// vectors.
#define ROWTIMES \
	ROWARGS                     \
	CMPQ CX, $(8*LANES)         \
	JGE  eights                 \
	CMPQ CX, $(4*LANES)         \
	JGE  fours                  \
	SHLQ $SHIFT, CX             \
	LEAQ ·laneMask+128(SB), AX  \
	SUBQ CX, AX                 \
	VMOVDQU (AX), Y12           \
	VMOVDQU 32(AX), Y13         \
	VMOVDQU 64(AX), Y14         \
	VMOVDQU 96(AX), Y15         \
	CLEAR4(Y0, Y1, Y2, Y3)      \
	FIRSTSTEP                   \
fewsteps:                           \
	BCAST   (R12), Y8           \
	MASKMOV (R11), Y12, Y4      \
	MASKMOV 32(R11), Y13, Y5    \
	MASKMOV 64(R11), Y14, Y6    \
	MASKMOV 96(R11), Y15, Y7    \
	FMA231  Y4, Y8, Y0          \
	FMA231  Y5, Y8, Y1          \
	FMA231  Y6, Y8, Y2          \
	FMA231  Y7, Y8, Y3          \
	NEXTSTEP(fewsteps)          \
	MASKMOV Y0, Y12, (DI)       \
	MASKMOV Y1, Y13, 32(DI)     \
	MASKMOV Y2, Y14, 64(DI)     \
	MASKMOV Y3, Y15, 96(DI)     \
	JMP     done                \
fours:                              \
	CLEAR4(Y0, Y1, Y2, Y3)      \
	FIRSTSTEP                   \
foursteps:                          \
	BCAST  (R12), Y8            \
	FMA231 (R11), Y8, Y0        \
	FMA231 32(R11), Y8, Y1      \
	FMA231 64(R11), Y8, Y2      \
	FMA231 96(R11), Y8, Y3      \
	NEXTSTEP(foursteps)         \
	STORE4                      \
	NEXTCOLUMNS(4*LANES, fours) \
eights:                             \
	CLEAR4(Y0, Y1, Y2, Y3)      \
	CLEAR4(Y4, Y5, Y6, Y7)      \
	CMPQ   add+64(FP), $0       \
	JEQ    cleared              \
	LOAD4                       \
	MOV    128(DI), Y4          \
	MOV    160(DI), Y5          \
	MOV    192(DI), Y6          \
	MOV    224(DI), Y7          \
cleared:                            \
	FIRSTSTEP                   \
	LEAQ   (SI)(R14*1), BX      \
eightsteps:                         \
	BCAST  (R12), Y8            \
	FMA231 (R11), Y8, Y0        \
	FMA231 32(R11), Y8, Y1      \
	FMA231 64(R11), Y8, Y2      \
	FMA231 96(R11), Y8, Y3      \
	FMA231 (BX), Y8, Y4         \
	FMA231 32(BX), Y8, Y5       \
	FMA231 64(BX), Y8, Y6       \
	FMA231 96(BX), Y8, Y7       \
	ADDQ   R8, BX               \
	NEXTSTEP(eightsteps)        \
	STORE4                      \
	MOV    Y4, 128(DI)          \
	MOV    Y5, 160(DI)          \
	MOV    Y6, 192(DI)          \
	MOV    Y7, 224(DI)          \
	NEXTCOLUMNS(8*LANES, eights) \
done:                               \
	UNFLUSH                     \
	VZEROUPPER                  \
	RET

// ROWPUT writes to C (DX) the sums (DI), times alpha, or adds them there.
#define ROWPUT \
	FLUSH                      \
	MOVQ  c+0(FP), DX          \
	MOVQ  y+8(FP), DI          \
	BCAST alpha+16(FP), Y8     \
	MOVQ  n+24(FP), CX         \
	MOVQ  add+32(FP), BX       \
	SHLQ  $SHIFT, CX           \
putloop:                           \
	LEAQ  ·laneMask+128(SB), AX \
	MOVQ  $32, R8              \
	CMPQ  CX, R8               \
	CMOVQLT CX, R8             \
	SUBQ  R8, AX               \
	VMOVDQU (AX), Y15          \
	MASKMOV (DI), Y15, Y0      \
	MUL   Y8, Y0, Y0           \
	TESTQ BX, BX               \
	JEQ   written              \
	MASKMOV (DX), Y15, Y1      \
	ADD   Y1, Y0, Y0           \
written:                           \
	MASKMOV Y0, Y15, (DX)      \
	ADDQ  $32, DI              \
	ADDQ  $32, DX              \
	SUBQ  R8, CX               \
	JNZ   putloop              \
	UNFLUSH                    \
	VZEROUPPER                 \
	RET
