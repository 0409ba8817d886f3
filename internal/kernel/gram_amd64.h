// Inner products of five rows with five rows, AVX-512, once for both element types; see names*.h.
//
// Registers: CX elements left, SI and DX the two groups of rows, R8 bytes between rows (R9 three
// times that). Row i of the first times row j of the second is summed in Z(5i+j).

#define ZERO5(a, b, c, d, e) \
	VPXORQ a, a, a \
	VPXORQ b, b, b \
	VPXORQ c, c, c \
	VPXORQ d, d, d \
	VPXORQ e, e, e

// BY5 adds the products of Z30 with Z25 to Z29.
#define BY5(a, b, c, d, e) \
	FMA231 Z25, Z30, a \
	FMA231 Z26, Z30, b \
	FMA231 Z27, Z30, c \
	FMA231 Z28, Z30, d \
	FMA231 Z29, Z30, e

// FIVEBYFIVE is one step of vectors that load reads.
#define FIVEBYFIVE(load) \
	load((DX), Z25)              \
	load((DX)(R8*1), Z26)        \
	load((DX)(R8*2), Z27)        \
	load((DX)(R9*1), Z28)        \
	load((DX)(R8*4), Z29)        \
	load((SI), Z30)              \
	BY5(Z0, Z1, Z2, Z3, Z4)      \
	load((SI)(R8*1), Z30)        \
	BY5(Z5, Z6, Z7, Z8, Z9)      \
	load((SI)(R8*2), Z30)        \
	BY5(Z10, Z11, Z12, Z13, Z14) \
	load((SI)(R9*1), Z30)        \
	BY5(Z15, Z16, Z17, Z18, Z19) \
	load((SI)(R8*4), Z30)        \
	BY5(Z20, Z21, Z22, Z23, Z24)

// WHOLE reads a vector, FIRST the elements of one that K1 selects.
#define WHOLE(p, z) MOV p, z
#define FIRST(p, z) MOV.Z p, K1, z

// SUM5 adds five vectors to those at DI.
#define SUM5(a, b, c, d, e) \
	ADD  (DI), a, a    \
	ADD  64(DI), b, b  \
	ADD  128(DI), c, c \
	ADD  192(DI), d, d \
	ADD  256(DI), e, e \
	MOV  a, (DI)       \
	MOV  b, 64(DI)     \
	MOV  c, 128(DI)    \
	MOV  d, 192(DI)    \
	MOV  e, 256(DI)    \
	ADDQ $320, DI

#define GRAM512 \
	MOVQ  x+0(FP), SI              \
	MOVQ  y+8(FP), DX              \
	MOVQ  ld+16(FP), R8            \
	MOVQ  n+24(FP), CX             \
	MOVQ  sums+32(FP), DI          \
	SHLQ  $SHIFT, R8               \
	LEAQ  (R8)(R8*2), R9           \
	ZERO5(Z0, Z1, Z2, Z3, Z4)      \
	ZERO5(Z5, Z6, Z7, Z8, Z9)      \
	ZERO5(Z10, Z11, Z12, Z13, Z14) \
	ZERO5(Z15, Z16, Z17, Z18, Z19) \
	ZERO5(Z20, Z21, Z22, Z23, Z24) \
	SUBQ  $(64/SIZE), CX           \
	JLT   tail                     \
	PCALIGN $32                    \
loop:                              \
	FIVEBYFIVE(WHOLE)              \
	ADDQ  $64, SI                  \
	ADDQ  $64, DX                  \
	SUBQ  $(64/SIZE), CX           \
	JGE   loop                     \
tail:                              \
	ADDQ  $(64/SIZE), CX           \
	JEQ   sums                     \
	MOVQ  $-1, AX                  \
	BZHIQ CX, AX, AX               \
	KMOVW AX, K1                   \
	FIVEBYFIVE(FIRST)              \
sums:                              \
	SUM5(Z0, Z1, Z2, Z3, Z4)       \
	SUM5(Z5, Z6, Z7, Z8, Z9)       \
	SUM5(Z10, Z11, Z12, Z13, Z14)  \
	SUM5(Z15, Z16, Z17, Z18, Z19)  \
	SUM5(Z20, Z21, Z22, Z23, Z24)  \
	VZEROUPPER                     \
	RET
