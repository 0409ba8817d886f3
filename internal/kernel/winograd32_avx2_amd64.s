//go:build !noasm

// Winograd's algorithm on 16 tiles or channels in two vectors, with AVX2; see winograd.go. Tiles lie in the
// vectors as the halves of a vector of AVX-512 have them, see laneOf.

#include "winograd_amd64.h"

// laneBits are the bits of eight lanes, in the lower and in the upper half of a mask.
DATA laneBits<>+0(SB)/8, $0x0000000200000001
DATA laneBits<>+8(SB)/8, $0x0000000800000004
DATA laneBits<>+16(SB)/8, $0x0000002000000010
DATA laneBits<>+24(SB)/8, $0x0000008000000040
DATA laneBits<>+32(SB)/8, $0x0000020000000100
DATA laneBits<>+40(SB)/8, $0x0000080000000400
DATA laneBits<>+48(SB)/8, $0x0000200000001000
DATA laneBits<>+56(SB)/8, $0x0000800000004000
GLOBL laneBits<>(SB), RODATA|NOPTR, $64

// LANES stores the mask of eight lanes that bits selects at d. Y14 holds the bits of a lower half, Y15 the bits of an upper one.
#define LANES(mask, bits, d) \
	VPBROADCASTW mask, Y0 \
	VPAND    bits, Y0, Y0 \
	VPCMPEQD bits, Y0, Y0 \
	MOV      Y0, d

#define LANEBITS \
	MOV laneBits<>+0(SB), Y14 \
	MOV laneBits<>+32(SB), Y15

// UNITLANES stores the masks of the pixels of four units.
#define UNITLANES(masks, at) \
	LANES(masks+0(AX), Y14, at+0(BX))  \
	LANES(masks+2(AX), Y15, at+32(BX)) \
	LANES(masks+4(AX), Y14, at+64(BX)) \
	LANES(masks+6(AX), Y15, at+96(BX))

// EXISTING reads those pixels of a row that exist, which the masks at masks select.
#define EXISTING(masks, row, a, b, c, d) \
	MOV     masks+0(BX), Y15   \
	MASKMOV (R8)row, Y15, a    \
	MOV     masks+32(BX), Y15  \
	MASKMOV (R9)row, Y15, b    \
	MOV     masks+64(BX), Y15  \
	MASKMOV (R10)row, Y15, c   \
	MOV     masks+96(BX), Y15  \
	MASKMOV (R11)row, Y15, d

// BETWEEN sets d to the second half of x and the first half of y.
#define BETWEEN(x, y, d) VPERM2F128 $0x21, y, x, d

// SWAPPED sets d to x with the pairs of each half in the other order.
#define SWAPPED(x, d) VPERMILPD $5, x, d

// NEIGHBOURS makes x, which holds the vector before or after cur, the left or right neighbours of cur. The elements that
// side selects come from x, and the others from cur. Neighbours that do not exist are set to 0.
#define NEIGHBOURS(side, cur, exist, x) \
	VBLENDPS  side, x, cur, x \
	VPERMILPS $0xb1, x, x     \
	AND       exist, x, x

#define LEFTOF $0xaa
#define RIGHTOF $0x55

// COLUMNSB multiplies a row of pixels in Y8 to Y11 by B, and stores four components.
#define COLUMNSB \
	VSHUFPS $0x88, Y10, Y8, Y12 \
	VSHUFPS $0xdd, Y10, Y8, Y8  \
	VSHUFPS $0x88, Y11, Y9, Y10 \
	VSHUFPS $0xdd, Y11, Y9, Y9  \
	SWAPPED(Y9, Y11)            \
	BETWEEN(Y11, Y8, Y11)       \
	BETWEEN(Y8, Y9, Y13)        \
	NEIGHBOURS(LEFTOF, Y8, 512(BX), Y11) \
	NEIGHBOURS(LEFTOF, Y9, 544(BX), Y13) \
	SUB  Y8, Y11, Y11           \
	SUB  Y9, Y13, Y13           \
	MOV  Y11, (DI)              \
	MOV  Y13, 32(DI)            \
	ADD  Y8, Y12, Y14           \
	ADD  Y9, Y10, Y15           \
	MOV  Y14, (DI)(R14*1)       \
	MOV  Y15, 32(DI)(R14*1)     \
	SUB  Y12, Y8, Y14           \
	SUB  Y10, Y9, Y15           \
	MOV  Y14, (DI)(R14*2)       \
	MOV  Y15, 32(DI)(R14*2)     \
	BETWEEN(Y12, Y10, Y11)      \
	SWAPPED(Y12, Y13)           \
	BETWEEN(Y10, Y13, Y13)      \
	NEIGHBOURS(RIGHTOF, Y12, 576(BX), Y11) \
	NEIGHBOURS(RIGHTOF, Y10, 608(BX), Y13) \
	SUB  Y12, Y11, Y11          \
	SUB  Y10, Y13, Y13          \
	MOV  Y11, (DI)(R15*1)       \
	MOV  Y13, 32(DI)(R15*1)     \
	LEAQ (DI)(R14*4), DI

// func imageTilesAVX2(b *tileBand, x, v *float32, channels, xchannel, vchannel, component int)
TEXT ·imageTilesAVX2(SB), NOSPLIT, $656-56
	FLUSH
	MOVQ b+0(FP), AX
	LEAQ masks-656(SP), BX
	LANEBITS
	UNITLANES(40, 0)
	UNITLANES(48, 128)
	UNITLANES(56, 256)
	UNITLANES(64, 384)
	LANES(72(AX), Y14, 512(BX))
	LANES(72(AX), Y15, 544(BX))
	LANES(74(AX), Y14, 576(BX))
	LANES(74(AX), Y15, 608(BX))
	MOVQ x+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ channels+24(FP), CX
	MOVQ vchannel+40(FP), R13
	SHLQ $SHIFT, R13
	COMPONENTS(component+48(FP))
	UNITS
	NEGQ R12 // the rows are one, two, three and four behind
	NEXTUNITS(R12)
	NEGQ R12
	LEAQ (R12)(R12*2), SI
	MOVQ xchannel+32(FP), AX
	SHLQ $SHIFT, AX
image:
	AHEAD(512, (R12*2))
	MOVQ DX, DI
	EXISTING(256, (SI*1), Y4, Y5, Y6, Y7)
	EXISTING(0, (R12*1), Y8, Y9, Y10, Y11)
	SUB Y4, Y8, Y8
	SUB Y5, Y9, Y9
	SUB Y6, Y10, Y10
	SUB Y7, Y11, Y11
	COLUMNSB
	EXISTING(128, (R12*2), Y0, Y1, Y2, Y3)
	ADD Y0, Y4, Y8
	ADD Y1, Y5, Y9
	ADD Y2, Y6, Y10
	ADD Y3, Y7, Y11
	COLUMNSB
	SUB Y0, Y4, Y8
	SUB Y1, Y5, Y9
	SUB Y2, Y6, Y10
	SUB Y3, Y7, Y11
	COLUMNSB
	EXISTING(384, (R12*4), Y8, Y9, Y10, Y11)
	SUB Y0, Y8, Y8
	SUB Y1, Y9, Y9
	SUB Y2, Y10, Y10
	SUB Y3, Y11, Y11
	COLUMNSB
	NEXTUNITS(AX)
	ADDQ R13, DX
	DECQ CX
	JNZ  image
	UNFLUSH
	VZEROUPPER
	RET

// PIXELS sets even and odd to the pixels of a row of two units, in their order.
#define PIXELS(row, first, second, even, odd) \
	MOV     (first)row, Y14       \
	MOV     (second)row, Y15      \
	VSHUFPS $0x88, Y15, Y14, even \
	VSHUFPS $0xdd, Y15, Y14, odd  \
	VPERMPD $0xd8, even, even     \
	VPERMPD $0xd8, odd, odd

// COLUMNSA stores half a row times Aᵀ.
#define COLUMNSA(at, a, b) \
	ADD  b, a, Y14            \
	SUB  b, a, Y15            \
	MOV  a, at(DI)            \
	MOV  Y14, at(DI)(R14*1)   \
	MOV  Y15, at(DI)(R14*2)   \
	MOV  b, at(DI)(R15*1)     \
	LEAQ (DI)(R14*4), DI

// HALFDERIVATIVE computes the components of 8 tiles.
#define HALFDERIVATIVE(at, first, second) \
	MOVQ DX, DI \
	PIXELS((R12*1), first, second, Y0, Y1) \
	PIXELS((R12*2), first, second, Y2, Y3) \
	ADD Y2, Y0, Y4 \
	ADD Y3, Y1, Y5 \
	SUB Y2, Y0, Y6 \
	SUB Y3, Y1, Y7 \
	COLUMNSA(at, Y0, Y1) \
	COLUMNSA(at, Y4, Y5) \
	COLUMNSA(at, Y6, Y7) \
	COLUMNSA(at, Y2, Y3)

// func derivativeTilesAVX2(b *tileBand, y, v *float32, channels, ychannel, vchannel, component int)
TEXT ·derivativeTilesAVX2(SB), NOSPLIT, $8-56
	FLUSH
	MOVQ b+0(FP), AX
	MOVQ y+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ channels+24(FP), CX
	MOVQ ychannel+32(FP), BX
	MOVQ vchannel+40(FP), R13
	SHLQ $SHIFT, BX
	SHLQ $SHIFT, R13
	COMPONENTS(component+48(FP))
	UNITS
derivative:
	AHEAD(1024, (R12*1))
	HALFDERIVATIVE(0, R8, R9)
	HALFDERIVATIVE(32, R10, R11)
	NEXTUNITS(BX)
	ADDQ R13, DX
	DECQ CX
	JNZ  derivative
	UNFLUSH
	VZEROUPPER
	RET

// ROWSA multiplies the rows of half a column by Aᵀ.
#define ROWSA(at, column, p, q) \
	MOV at(AX)column, Y12     \
	MOV at(BX)column, Y13     \
	ADD Y13, Y12, Y14         \
	SUB Y13, Y12, Y15         \
	ADD at(SI)column, Y14, p  \
	ADD at(DX)column, Y15, q

// PUTWHOLE and PUTEXISTING store a vector, the second where a mask at mask selects elements.
#define PUTWHOLE(v, mask, to) MOV v, to

#define PUTEXISTING(v, mask, to) \
	MOV     mask(R13), Y12 \
	MASKMOV v, Y12, to

// PUTROW multiplies the columns of half a row by A and stores its pixels.
#define PUTROW(put, row, first, second, a, b, c, d, mask) \
	ADD c, b, Y12             \
	SUB c, b, Y13             \
	ADD a, Y12, Y12           \
	ADD d, Y13, Y13           \
	VUNPCKLPS Y13, Y12, Y14   \
	VUNPCKHPS Y13, Y12, Y15   \
	put(Y14, mask, (first)row) \
	put(Y15, mask+64, (second)row)

// HALFRESULT computes the pixels of two units from 8 tiles.
#define HALFRESULT(put, at, first, second) \
	ROWSA(at, (R14*1), Y0, Y4) \
	ROWSA(at, (R14*2), Y1, Y5) \
	ROWSA(at, (R15*1), Y2, Y6) \
	ROWSA(at, (R14*4), Y3, Y7) \
	PUTROW(put, (R12*1), first, second, Y0, Y1, Y2, Y3, at) \
	PUTROW(put, (R12*2), first, second, Y4, Y5, Y6, Y7, 128+at)

// RESULT computes the pixels of a channel.
#define RESULT(put) \
	AHEAD(512, (R12*1))          \
	HALFRESULT(put, 0, R8, R10)  \
	HALFRESULT(put, 32, R9, R11) \
	NEXTUNITS(DI)                \
	NEXTROWS(stride-16(SP))      \
	DECQ CX

// RESULTLANES stores the masks of the results in four units.
#define RESULTLANES(masks, at) \
	LANES(masks+0(AX), Y14, at+0(R13))  \
	LANES(masks+2(AX), Y14, at+32(R13)) \
	LANES(masks+4(AX), Y14, at+64(R13)) \
	LANES(masks+6(AX), Y14, at+96(R13))

// func resultTilesAVX2(b *tileBand, m, y *float32, channels, ychannel, mchannel, component int)
TEXT ·resultTilesAVX2(SB), NOSPLIT, $288-56
	FLUSH
	MOVQ b+0(FP), AX
	MOVQ y+16(FP), SI
	UNITS
	LEAQ masks-288(SP), R13
	LANEBITS
	RESULTLANES(76, 0)
	RESULTLANES(84, 128)
	MOVQ 76(AX), DX
	ANDQ 84(AX), DX
	MOVQ DX, all-24(SP)
	MOVQ mchannel+40(FP), DI
	SHLQ $SHIFT, DI
	MOVQ DI, stride-16(SP)
	MOVQ m+8(FP), SI
	MOVQ channels+24(FP), CX
	COMPONENTS(component+48(FP))
	ROWBASES
	MOVQ $0x00ff00ff00ff00ff, DI
	CMPQ DI, all-24(SP)
	MOVQ ychannel+32(FP), DI
	LEAQ (DI*SIZE), DI
	JNE  existing
whole:
	RESULT(PUTWHOLE)
	JNZ  whole
	JMP  done
existing:
	RESULT(PUTEXISTING)
	JNZ  existing
done:
	UNFLUSH
	VZEROUPPER
	RET

#define TURNEDCOLUMNS \
	TIMESB(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15) \
	STORE4(Y12, Y13, Y14, Y15)

// func turnedTilesAVX2(x *float32, row, pixel int, v *float32, component, tiles, vectors int)
TEXT ·turnedTilesAVX2(SB), NOSPLIT, $8-56
	FLUSH
	MOVQ x+0(FP), SI
	MOVQ row+8(FP), R8
	MOVQ pixel+16(FP), R12
	MOVQ v+24(FP), R9
	MOVQ tiles+40(FP), R11
	SHLQ $SHIFT, R8
	SHLQ $SHIFT, R12
	LEAQ (R12)(R12*2), R13
	COMPONENTS(component+32(FP))
	SUBQ R12, SI
	LEAQ (SI)(R8*1), AX
	LEAQ (SI)(R8*2), BX
	LEAQ (AX)(R8*2), DX
tile:
	MOVQ vectors+48(FP), CX
	ADDQ CX, CX
turned:
	MOVQ R9, DI
	MOV (BX)(R12*1), Y4
	MOV (BX)(R12*2), Y5
	MOV (BX)(R13*1), Y6
	MOV (BX)(R12*4), Y7
	MOV (SI)(R12*1), Y8
	MOV (SI)(R12*2), Y9
	MOV (SI)(R13*1), Y10
	MOV (SI)(R12*4), Y11
	SUB Y4, Y8, Y8
	SUB Y5, Y9, Y9
	SUB Y6, Y10, Y10
	SUB Y7, Y11, Y11
	TURNEDCOLUMNS
	MOV (AX)(R12*1), Y0
	MOV (AX)(R12*2), Y1
	MOV (AX)(R13*1), Y2
	MOV (AX)(R12*4), Y3
	ADD Y0, Y4, Y8
	ADD Y1, Y5, Y9
	ADD Y2, Y6, Y10
	ADD Y3, Y7, Y11
	TURNEDCOLUMNS
	SUB Y0, Y4, Y8
	SUB Y1, Y5, Y9
	SUB Y2, Y6, Y10
	SUB Y3, Y7, Y11
	TURNEDCOLUMNS
	MOV (DX)(R12*1), Y8
	MOV (DX)(R12*2), Y9
	MOV (DX)(R13*1), Y10
	MOV (DX)(R12*4), Y11
	SUB Y0, Y8, Y8
	SUB Y1, Y9, Y9
	SUB Y2, Y10, Y10
	SUB Y3, Y11, Y11
	TURNEDCOLUMNS
	NEXTROWS($32)
	ADDQ $32, R9
	DECQ CX
	JNZ  turned
	NEXTROWS(R12) // one pixel is done, and the next tile begins two behind
	DECQ R11
	JNZ  tile
	UNFLUSH
	VZEROUPPER
	RET

// FILTERROWS multiplies the rows of a column by G; Y15 is a half.
#define FILTERROWS(column, p, q, r, s) \
	MOV (SI)column, p      \
	MOV (BX)column, s      \
	ADD s, p, Y12          \
	ADD (AX)column, Y12, q \
	SUB (AX)column, Y12, r \
	MUL Y15, q, q          \
	MUL Y15, r, r

// FILTERCOLUMNS multiplies a row by Gᵀ and stores it.
#define FILTERCOLUMNS(a, b, c) \
	ADD c, a, Y12   \
	ADD b, Y12, Y13 \
	SUB b, Y12, Y14 \
	MUL Y15, Y13, Y13 \
	MUL Y15, Y14, Y14 \
	STORE4(a, Y13, Y14, c)

#define HALF \
	MOVL  $0x3f000000, DI \
	MOVQ  DI, X15         \
	BCAST X15, Y15

// func filterTilesAVX2(taps *float32, tap int, u *float32, component, vectors int)
TEXT ·filterTilesAVX2(SB), NOSPLIT, $8-40
	FLUSH
	MOVQ taps+0(FP), SI
	MOVQ tap+8(FP), R8
	MOVQ u+16(FP), DX
	MOVQ vectors+32(FP), CX
	ADDQ CX, CX
	SHLQ $SHIFT, R8
	LEAQ (R8)(R8*2), R9
	COMPONENTS(component+24(FP))
	SUBQ R8, SI
	LEAQ (SI)(R9*1), AX
	LEAQ (SI)(R9*2), BX
	HALF
filter:
	MOVQ DX, DI
	FILTERROWS((R8*1), Y0, Y3, Y6, Y9)
	FILTERROWS((R8*2), Y1, Y4, Y7, Y10)
	FILTERROWS((R9*1), Y2, Y5, Y8, Y11)
	FILTERCOLUMNS(Y0, Y1, Y2)
	FILTERCOLUMNS(Y3, Y4, Y5)
	FILTERCOLUMNS(Y6, Y7, Y8)
	FILTERCOLUMNS(Y9, Y10, Y11)
	NEXTROWS($32)
	DECQ CX
	JNZ  filter
	UNFLUSH
	VZEROUPPER
	RET

// ROWSG multiplies the rows of a column by Gᵀ.
#define ROWSG(column, p, q, r) \
	MOV    (SI)column, p        \
	MOV    (AX)column, Y12      \
	MOV    (DX)column, r        \
	ADD    (BX)column, Y12, Y13 \
	SUB    (BX)column, Y12, q   \
	FMA231 Y15, Y13, p          \
	FMA231 Y15, Y13, r          \
	MUL    Y15, q, q

// PUTTAPS multiplies the columns of a row by G and stores its taps.
#define PUTTAPS(a, b, c, d) \
	ADD    c, b, Y12     \
	SUB    c, b, Y13     \
	FMA231 Y15, Y12, a   \
	FMA231 Y15, Y12, d   \
	MUL    Y15, Y13, b   \
	MOV    a, (DI)       \
	MOV    b, (DI)(R8*1) \
	MOV    d, (DI)(R8*2) \
	ADDQ   R9, DI

// func tapTilesAVX2(m *float32, component int, taps *float32, tap, vectors int)
TEXT ·tapTilesAVX2(SB), NOSPLIT, $8-40
	FLUSH
	MOVQ m+0(FP), SI
	MOVQ taps+16(FP), R10
	MOVQ tap+24(FP), R8
	MOVQ vectors+32(FP), CX
	ADDQ CX, CX
	SHLQ $SHIFT, R8
	LEAQ (R8)(R8*2), R9
	COMPONENTS(component+8(FP))
	ROWBASES
	HALF
tap:
	MOVQ R10, DI
	ROWSG((R14*1), Y0, Y4, Y8)
	ROWSG((R14*2), Y1, Y5, Y9)
	ROWSG((R15*1), Y2, Y6, Y10)
	ROWSG((R14*4), Y3, Y7, Y11)
	PUTTAPS(Y0, Y1, Y2, Y3)
	PUTTAPS(Y4, Y5, Y6, Y7)
	PUTTAPS(Y8, Y9, Y10, Y11)
	NEXTROWS($32)
	ADDQ $32, R10
	DECQ CX
	JNZ  tap
	UNFLUSH
	VZEROUPPER
	RET

// Products: 4 rows of 16 elements, which are summed in Y(2r) and Y(2r+1) for row r. Y8 and Y9 hold B, Y10 an
// element of A.
//
// Registers: CX steps left, SI A, DI B, DX C, R8 and R9 bytes between steps of A and of B, R13 bytes between
// rows of A (R14 three times that), R10 bytes between rows of C, R11 vectors left, R12 rows left.

#define CLEAR(x, y) \
	VPXOR x, x, x \
	VPXOR y, y, y

#define PLUS(at, x, y) \
	BCAST  at, Y10     \
	FMA231 Y8, Y10, x  \
	FMA231 Y9, Y10, y

#define PUT(x, y) \
	MOV  x, (DX)   \
	MOV  y, 32(DX) \
	ADDQ R10, DX

#define ADDC(x, y) \
	ADD (DX), x, x   \
	ADD 32(DX), y, y \
	PUT(x, y)

#define FOURROWS(op) \
	op(Y0, Y1) \
	op(Y2, Y3) \
	op(Y4, Y5) \
	op(Y6, Y7)

// func multiplyTilesAVX2(a *float32, arow, astep, acomponent int, b *float32, bstep, bcomponent int, c *float32, crow, ccomponent, rows, vectors, steps, add int)
TEXT ·multiplyTilesAVX2(SB), NOSPLIT, $64-112
	FLUSH
	MOVQ a+0(FP), SI
	MOVQ arow+8(FP), R13
	MOVQ astep+16(FP), R8
	MOVQ b+32(FP), DI
	MOVQ bstep+40(FP), R9
	MOVQ c+56(FP), DX
	MOVQ crow+64(FP), R10
	SHLQ $SHIFT, R13
	SHLQ $SHIFT, R8
	SHLQ $SHIFT, R9
	SHLQ $SHIFT, R10
	LEAQ (R13)(R13*2), R14
	MOVQ SI, a-16(SP)
	MOVQ DI, b-24(SP)
	MOVQ DX, c-32(SP)
	MOVQ $16, left-40(SP)
component:
	MOVQ b-24(SP), BX
	MOVQ c-32(SP), AX
	MOVQ AX, crows-48(SP)
	MOVQ vectors+88(FP), R11
vector:
	MOVQ a-16(SP), R15
	MOVQ crows-48(SP), DX
	MOVQ rows+80(FP), R12
rows:
	MOVQ R15, SI
	MOVQ BX, DI
	MOVQ steps+96(FP), CX
	FOURROWS(CLEAR)
	PCALIGN $32
step:
	MOV  (DI), Y8
	MOV  32(DI), Y9
	PLUS((SI), Y0, Y1)
	PLUS((SI)(R13*1), Y2, Y3)
	PLUS((SI)(R13*2), Y4, Y5)
	PLUS((SI)(R14*1), Y6, Y7)
	ADDQ R8, SI
	ADDQ R9, DI
	DECQ CX
	JNZ  step
	CMPQ add+104(FP), $0
	JNZ  further
	FOURROWS(PUT)
	JMP  nextrows
further:
	FOURROWS(ADDC)
nextrows:
	LEAQ (R15)(R13*4), R15
	SUBQ $4, R12
	JNZ  rows
	ADDQ $64, BX
	ADDQ $64, crows-48(SP)
	DECQ R11
	JNZ  vector
	NEXTCOMPONENT(acomponent+24(FP), a-16(SP))
	NEXTCOMPONENT(bcomponent+48(FP), b-24(SP))
	NEXTCOMPONENT(ccomponent+72(FP), c-32(SP))
	DECQ left-40(SP)
	JNZ  component
	UNFLUSH
	VZEROUPPER
	RET
