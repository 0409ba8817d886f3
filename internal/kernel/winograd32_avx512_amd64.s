//go:build !noasm

// Winograd's algorithm on vectors of 16 tiles or channels, with AVX-512; see winograd.go.

#include "winograd_amd64.h"

// SECONDHALVES makes the pointers to the second and fourth unit those to whole vectors, whose
// second halves they are. K7 selects these.
#define SECONDHALVES \
	SUBQ  $32, R9      \
	SUBQ  $32, R11     \
	MOVL  $0xff00, DI  \
	KMOVW DI, K7

// INNER reads a row of pixels. EXISTING reads those that exist, which masks select.
#define INNER(row, x, lowx, y, lowy) \
	MOV (R8)row, lowx  \
	MOV (R9)row, K7, x \
	MOV (R10)row, lowy \
	MOV (R11)row, K7, y

#define EXISTING(masks, row, x, y) \
	KMOVW masks+0(AX), K1 \
	KMOVW masks+2(AX), K2 \
	KMOVW masks+4(AX), K3 \
	KMOVW masks+6(AX), K4 \
	MOV.Z (R8)row, K1, x  \
	MOV   (R9)row, K2, x  \
	MOV.Z (R10)row, K3, y \
	MOV   (R11)row, K4, y

// PICK sets d to the elements of x and y that index selects.
#define PICK(index, x, y, d) \
	VMOVAPS   index, d \
	VPERMI2PS y, x, d

#define COLUMNSB(x, y) \
	VSHUFPS   $0x88, y, x, Z17 \
	VSHUFPS   $0xdd, y, x, Z18 \
	VPERMPS.Z Z18, Z30, K5, Z16 \
	VPERMPS.Z Z17, Z31, K6, Z19 \
	TIMESB(Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23) \
	STORE4(Z20, Z21, Z22, Z23)

// func imageTilesAVX512(b *tileBand, x, v *float32, channels, xchannel, vchannel, component int)
TEXT ·imageTilesAVX512(SB), NOSPLIT, $8-56
	FLUSH
	MOVQ b+0(FP), AX
	MOVQ x+8(FP), SI
	MOVQ v+16(FP), DX
	MOVQ channels+24(FP), CX
	MOVQ xchannel+32(FP), BX
	MOVQ vchannel+40(FP), R13
	SHLQ $SHIFT, BX
	SHLQ $SHIFT, R13
	COMPONENTS(component+48(FP))
	UNITS
	SECONDHALVES
	NEGQ R12 // the rows are one, two, three and four behind
	NEXTUNITS(R12)
	NEGQ R12
	LEAQ (R12)(R12*2), SI
	KMOVW 72(AX), K5
	KMOVW 74(AX), K6
	VMOVUPS ·tileLane+0(SB), Z30
	VMOVUPS ·tileLane+64(SB), Z31
image:
	AHEAD(512, (R12*2))
	EXISTING(40, (R12*1), Z0, Z1)
	EXISTING(48, (R12*2), Z2, Z3)
	EXISTING(56, (SI*1), Z4, Z5)
	EXISTING(64, (R12*4), Z6, Z7)
	TIMESB(Z0, Z2, Z4, Z6, Z8, Z10, Z12, Z14)
	TIMESB(Z1, Z3, Z5, Z7, Z9, Z11, Z13, Z15)
	MOVQ DX, DI
	COLUMNSB(Z8, Z9)
	COLUMNSB(Z10, Z11)
	COLUMNSB(Z12, Z13)
	COLUMNSB(Z14, Z15)
	NEXTUNITS(BX)
	ADDQ R13, DX
	DECQ CX
	JNZ  image
	UNFLUSH
	VZEROUPPER
	RET

// COLUMNSA stores a row times Aᵀ.
#define COLUMNSA(a, b) \
	ADD b, a, Z16 \
	SUB b, a, Z17 \
	STORE4(a, Z16, Z17, b)

// func derivativeTilesAVX512(b *tileBand, y, v *float32, channels, ychannel, vchannel, component int)
TEXT ·derivativeTilesAVX512(SB), NOSPLIT, $8-56
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
	SECONDHALVES
	VMOVUPS ·tileLane+128(SB), Z30
	VMOVUPS ·tileLane+192(SB), Z31
derivative:
	MOVQ DX, DI
	AHEAD(1024, (R12*1))
	INNER((R12*1), Z0, Y0, Z1, Y1)
	INNER((R12*2), Z2, Y2, Z3, Y3)
	PICK(Z30, Z0, Z1, Z4)
	PICK(Z31, Z0, Z1, Z5)
	PICK(Z30, Z2, Z3, Z6)
	PICK(Z31, Z2, Z3, Z7)
	ADD Z6, Z4, Z8
	SUB Z6, Z4, Z10
	ADD Z7, Z5, Z9
	SUB Z7, Z5, Z11
	COLUMNSA(Z4, Z5)
	COLUMNSA(Z8, Z9)
	COLUMNSA(Z10, Z11)
	COLUMNSA(Z6, Z7)
	NEXTUNITS(BX)
	ADDQ R13, DX
	DECQ CX
	JNZ  derivative
	UNFLUSH
	VZEROUPPER
	RET

// ROWSA multiplies the rows of a column by Aᵀ.
#define ROWSA(column, p, q) \
	MOV (AX)column, Z16    \
	MOV (BX)column, Z17    \
	ADD Z17, Z16, Z18      \
	SUB Z17, Z16, Z19      \
	ADD (SI)column, Z18, p \
	ADD (DX)column, Z19, q

// PUTROW multiplies the columns of a row by A and stores its pixels, which masks select.
#define PUTROW(row, a, b, c, d, m0, m1, m2, m3) \
	ADD  c, b, Z16             \
	SUB  c, b, Z17             \
	ADD  a, Z16, Z16           \
	ADD  d, Z17, Z17           \
	VUNPCKLPS Z17, Z16, Z18    \
	VUNPCKHPS Z17, Z16, Z19    \
	MOV  Y18, m0, (R8)row      \
	VEXTRACTF32X8 $1, Z18, m1, (R9)row \
	MOV  Y19, m2, (R10)row     \
	VEXTRACTF32X8 $1, Z19, m3, (R11)row

// func resultTilesAVX512(b *tileBand, m, y *float32, channels, ychannel, mchannel, component int)
TEXT ·resultTilesAVX512(SB), NOSPLIT, $16-56
	FLUSH
	MOVQ b+0(FP), AX
	MOVQ y+16(FP), SI
	UNITS
	KMOVW 76(AX), K1
	KMOVW 78(AX), K2
	KMOVW 80(AX), K3
	KMOVW 84(AX), K5
	KMOVW 86(AX), K6
	KMOVW 88(AX), K7
	MOVQ m+8(FP), SI
	MOVQ channels+24(FP), CX
	MOVQ ychannel+32(FP), DI
	MOVQ mchannel+40(FP), R13
	SHLQ $SHIFT, DI
	SHLQ $SHIFT, R13
	MOVQ R13, stride-16(SP)
	MOVQ AX, R13
	COMPONENTS(component+48(FP))
	ROWBASES
result:
	AHEAD(512, (R12*1))
	ROWSA((R14*1), Z0, Z4)
	ROWSA((R14*2), Z1, Z5)
	ROWSA((R15*1), Z2, Z6)
	ROWSA((R14*4), Z3, Z7)
	KMOVW 82(R13), K4
	PUTROW((R12*1), Z0, Z1, Z2, Z3, K1, K2, K3, K4)
	KMOVW 90(R13), K4
	PUTROW((R12*2), Z4, Z5, Z6, Z7, K5, K6, K7, K4)
	NEXTUNITS(DI)
	NEXTROWS(stride-16(SP))
	DECQ CX
	JNZ  result
	UNFLUSH
	VZEROUPPER
	RET

#define TURNEDROWS(column, p, q, r, s) \
	MOV (SI)column, Z16 \
	MOV (AX)column, Z17 \
	MOV (BX)column, Z18 \
	MOV (DX)column, Z19 \
	TIMESB(Z16, Z17, Z18, Z19, p, q, r, s)

#define TURNEDCOLUMNS(a, b, c, d) \
	TIMESB(a, b, c, d, Z16, Z17, Z18, Z19) \
	STORE4(Z16, Z17, Z18, Z19)

// func turnedTilesAVX512(x *float32, row, pixel int, v *float32, component, tiles, vectors int)
TEXT ·turnedTilesAVX512(SB), NOSPLIT, $8-56
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
turned:
	MOVQ R9, DI
	TURNEDROWS((R12*1), Z0, Z4, Z8, Z12)
	TURNEDROWS((R12*2), Z1, Z5, Z9, Z13)
	TURNEDROWS((R13*1), Z2, Z6, Z10, Z14)
	TURNEDROWS((R12*4), Z3, Z7, Z11, Z15)
	TURNEDCOLUMNS(Z0, Z1, Z2, Z3)
	TURNEDCOLUMNS(Z4, Z5, Z6, Z7)
	TURNEDCOLUMNS(Z8, Z9, Z10, Z11)
	TURNEDCOLUMNS(Z12, Z13, Z14, Z15)
	NEXTROWS($64)
	ADDQ $64, R9
	DECQ CX
	JNZ  turned
	NEXTROWS(R12) // one pixel is done, and the next tile begins two behind
	DECQ R11
	JNZ  tile
	UNFLUSH
	VZEROUPPER
	RET

// TIMESG multiplies by G; Z31 is a half. It overwrites Z16 to Z18.
#define TIMESG(a, b, c, p, q) \
	ADD c, a, Z16   \
	ADD b, Z16, Z17 \
	SUB b, Z16, Z18 \
	MUL Z31, Z17, p \
	MUL Z31, Z18, q

#define FILTERROWS(column, p, q, r, s) \
	MOV (SI)column, p   \
	MOV (AX)column, Z19 \
	MOV (BX)column, s   \
	TIMESG(p, Z19, s, q, r)

#define FILTERCOLUMNS(a, b, c) \
	TIMESG(a, b, c, Z20, Z21) \
	STORE4(a, Z20, Z21, c)

#define HALF \
	MOVL $0x3f000000, DI \
	VPBROADCASTD DI, Z31

// func filterTilesAVX512(taps *float32, tap int, u *float32, component, vectors int)
TEXT ·filterTilesAVX512(SB), NOSPLIT, $8-40
	FLUSH
	MOVQ taps+0(FP), SI
	MOVQ tap+8(FP), R8
	MOVQ u+16(FP), DX
	MOVQ vectors+32(FP), CX
	SHLQ $SHIFT, R8
	LEAQ (R8)(R8*2), R9
	COMPONENTS(component+24(FP))
	SUBQ R8, SI
	LEAQ (SI)(R9*1), AX
	LEAQ (SI)(R9*2), BX
	HALF
filter:
	MOVQ DX, DI
	FILTERROWS((R8*1), Z0, Z3, Z6, Z9)
	FILTERROWS((R8*2), Z1, Z4, Z7, Z10)
	FILTERROWS((R9*1), Z2, Z5, Z8, Z11)
	FILTERCOLUMNS(Z0, Z1, Z2)
	FILTERCOLUMNS(Z3, Z4, Z5)
	FILTERCOLUMNS(Z6, Z7, Z8)
	FILTERCOLUMNS(Z9, Z10, Z11)
	ADDQ $64, SI
	ADDQ $64, AX
	ADDQ $64, BX
	ADDQ $64, DX
	DECQ CX
	JNZ  filter
	UNFLUSH
	VZEROUPPER
	RET

// ROWSG multiplies the rows of a column by Gᵀ.
#define ROWSG(column, p, q, r) \
	MOV    (SI)column, p   \
	MOV    (AX)column, Z16 \
	MOV    (BX)column, Z17 \
	MOV    (DX)column, r   \
	ADD    Z17, Z16, Z18   \
	SUB    Z17, Z16, q     \
	FMA231 Z31, Z18, p     \
	FMA231 Z31, Z18, r     \
	MUL    Z31, q, q

// PUTTAPS multiplies the columns of a row by G and stores its taps.
#define PUTTAPS(a, b, c, d) \
	ADD    c, b, Z16   \
	SUB    c, b, Z17   \
	FMA231 Z31, Z16, a \
	FMA231 Z31, Z16, d \
	MUL    Z31, Z17, b \
	MOV    a, (DI)     \
	MOV    b, (DI)(R8*1) \
	MOV    d, (DI)(R8*2) \
	ADDQ   R9, DI

// func tapTilesAVX512(m *float32, component int, taps *float32, tap, vectors int)
TEXT ·tapTilesAVX512(SB), NOSPLIT, $8-40
	FLUSH
	MOVQ m+0(FP), SI
	MOVQ taps+16(FP), R10
	MOVQ tap+24(FP), R8
	MOVQ vectors+32(FP), CX
	SHLQ $SHIFT, R8
	LEAQ (R8)(R8*2), R9
	COMPONENTS(component+8(FP))
	ROWBASES
	HALF
tap:
	MOVQ R10, DI
	ROWSG((R14*1), Z0, Z4, Z8)
	ROWSG((R14*2), Z1, Z5, Z9)
	ROWSG((R15*1), Z2, Z6, Z10)
	ROWSG((R14*4), Z3, Z7, Z11)
	PUTTAPS(Z0, Z1, Z2, Z3)
	PUTTAPS(Z4, Z5, Z6, Z7)
	PUTTAPS(Z8, Z9, Z10, Z11)
	NEXTROWS($64)
	ADDQ $64, R10
	DECQ CX
	JNZ  tap
	UNFLUSH
	VZEROUPPER
	RET

// Products: 8 rows of two vectors, which are summed in Z(2r) and Z(2r+1) for row r, or 16 rows of one,
// in Z(2r) for the first eight rows and Z(2r+1) for the others. Z16 and Z17 hold B, Z18 an element of
// A.
//
// Registers: CX steps left, SI A, AX the ninth row of A and then C, DI B, DX C, R8 and R9 bytes between
// steps of A and of B, R13 bytes between rows of A (R14 three times, R15 five times, BX seven times
// that), R10 bytes between rows of C, R11 vectors left, R12 rows left.

#define EIGHTROWS(op) \
	op(Z0, Z1)   \
	op(Z2, Z3)   \
	op(Z4, Z5)   \
	op(Z6, Z7)   \
	op(Z8, Z9)   \
	op(Z10, Z11) \
	op(Z12, Z13) \
	op(Z14, Z15)

#define CLEAR(x, y) \
	VPXORQ x, x, x \
	VPXORQ y, y, y

#define EIGHTPRODUCTS(op, a) \
	op((a), Z0, Z1)          \
	op((a)(R13*1), Z2, Z3)   \
	op((a)(R13*2), Z4, Z5)   \
	op((a)(R14*1), Z6, Z7)   \
	op((a)(R13*4), Z8, Z9)   \
	op((a)(R15*1), Z10, Z11) \
	op((a)(R14*2), Z12, Z13) \
	op((a)(BX*1), Z14, Z15)  \
	ADDQ R8, a

#define PLUSBOTH(at, x, y) \
	BCAST  at, Z18     \
	FMA231 Z16, Z18, x \
	FMA231 Z17, Z18, y

#define PLUSFIRST(at, x, y) FMA231.BCST at, Z16, x
#define PLUSSECOND(at, x, y) FMA231.BCST at, Z16, y

#define PUTBOTH(x, y) \
	MOV  x, (AX)   \
	MOV  y, 64(AX) \
	ADDQ R10, AX

#define PUTFIRST(x, y) \
	MOV  x, (AX) \
	ADDQ R10, AX

#define PUTSECOND(x, y) PUTFIRST(y, x)

#define ADDBOTH(x, y) \
	ADD (AX), x, x   \
	ADD 64(AX), y, y \
	PUTBOTH(x, y)

#define ADDFIRST(x, y) \
	ADD (AX), x, x \
	PUTFIRST(x, y)

#define ADDSECOND(x, y) ADDFIRST(y, x)

// FIRSTROWS makes DX and the variable arows point to the first rows of C and of A.
#define FIRSTROWS(count) \
	MOVQ a-16(SP), SI       \
	MOVQ SI, arows-48(SP)   \
	MOVQ c-32(SP), DX       \
	MOVQ count, R12

#define EIGHTFURTHER(at) \
	LEAQ (R13*8), AX \
	ADDQ AX, at

// func multiplyTilesAVX512(a *float32, arow, astep, acomponent int, b *float32, bstep, bcomponent int, c *float32, crow, ccomponent, rows, vectors, steps, add int)
TEXT ·multiplyTilesAVX512(SB), NOSPLIT, $64-112
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
	LEAQ (R13)(R13*4), R15
	LEAQ (R14)(R13*4), BX
	MOVQ SI, a-16(SP)
	MOVQ DI, b-24(SP)
	MOVQ DX, c-32(SP)
	MOVQ $16, left-40(SP)
component:
	FIRSTROWS(rows+80(FP))
	MOVQ DX, crows-56(SP)
	MOVQ b-24(SP), DI
	CMPQ vectors+88(FP), $1
	JEQ  last
rows:
	MOVQ b-24(SP), DI
	MOVQ DI, bvectors-64(SP)
	MOVQ crows-56(SP), DX
	MOVQ vectors+88(FP), R11
pair:
	MOVQ arows-48(SP), SI
	MOVQ bvectors-64(SP), DI
	MOVQ steps+96(FP), CX
	EIGHTROWS(CLEAR)
	PCALIGN $32
two:
	MOV  (DI), Z16
	MOV  64(DI), Z17
	EIGHTPRODUCTS(PLUSBOTH, SI)
	ADDQ R9, DI
	DECQ CX
	JNZ  two
	MOVQ DX, AX
	CMPQ add+104(FP), $0
	JNZ  addtwo
	EIGHTROWS(PUTBOTH)
	JMP  nextpair
addtwo:
	EIGHTROWS(ADDBOTH)
nextpair:
	ADDQ $128, DX
	ADDQ $128, bvectors-64(SP)
	SUBQ $2, R11
	CMPQ R11, $1
	JGT  pair
	EIGHTFURTHER(arows-48(SP))
	LEAQ (R10*8), AX
	ADDQ AX, crows-56(SP)
	SUBQ $8, R12
	JNZ  rows
	TESTQ R11, R11
	JZ   next
	MOVQ bvectors-64(SP), DI
	FIRSTROWS(rows+80(FP))
	MOVQ vectors+88(FP), AX
	DECQ AX
	SHLQ $6, AX
	ADDQ AX, DX
last:
	MOVQ DI, bvectors-64(SP)
lastrows:
	MOVQ arows-48(SP), SI
	LEAQ (SI)(R13*8), AX
	MOVQ bvectors-64(SP), DI
	MOVQ steps+96(FP), CX
	EIGHTROWS(CLEAR)
	PCALIGN $32
one:
	MOV  (DI), Z16
	EIGHTPRODUCTS(PLUSFIRST, SI)
	EIGHTPRODUCTS(PLUSSECOND, AX)
	ADDQ R9, DI
	DECQ CX
	JNZ  one
	MOVQ DX, AX
	CMPQ add+104(FP), $0
	JNZ  addone
	EIGHTROWS(PUTFIRST)
	EIGHTROWS(PUTSECOND)
	JMP  nextlast
addone:
	EIGHTROWS(ADDFIRST)
	EIGHTROWS(ADDSECOND)
nextlast:
	MOVQ AX, DX
	EIGHTFURTHER(arows-48(SP))
	EIGHTFURTHER(arows-48(SP))
	SUBQ $16, R12
	JNZ  lastrows
next:
	NEXTCOMPONENT(acomponent+24(FP), a-16(SP))
	NEXTCOMPONENT(bcomponent+48(FP), b-24(SP))
	NEXTCOMPONENT(ccomponent+72(FP), c-32(SP))
	DECQ left-40(SP)
	JNZ  component
	UNFLUSH
	VZEROUPPER
	RET
