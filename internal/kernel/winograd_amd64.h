// What the assembly for tiles with AVX-512 and with AVX2 has in common; see winograd.go.

#include "names32_amd64.h"
#include "flush_amd64.h"

// Four addresses that are a stride apart are given by the index registers one, two, three and four
// strides behind a base, which is one stride before the first.

// UNITS makes R8 to R11 point to the row above the four units of the band at AX, in the channel at
// SI; R12 is the row's bytes.
#define UNITS \
	MOVQ 0(AX), R8        \
	MOVQ 8(AX), R9        \
	MOVQ 16(AX), R10      \
	MOVQ 24(AX), R11      \
	MOVQ 32(AX), R12      \
	SHLQ $SHIFT, R12      \
	SUBQ R12, SI          \
	LEAQ (SI)(R8*SIZE), R8   \
	LEAQ (SI)(R9*SIZE), R9   \
	LEAQ (SI)(R10*SIZE), R10 \
	LEAQ (SI)(R11*SIZE), R11

#define NEXTUNITS(stride) \
	ADDQ stride, R8  \
	ADDQ stride, R9  \
	ADDQ stride, R10 \
	ADDQ stride, R11

// COMPONENTS makes R14 and R15 one and three times the bytes between components.
#define COMPONENTS(arg) \
	MOVQ arg, R14    \
	SHLQ $SHIFT, R14 \
	LEAQ (R14)(R14*2), R15

// AHEAD asks for the pixels of the band that begins this many bytes behind the one in a row: the next
// that will be read or written after this one and others of tileVectors or chunkVectors.
#define AHEAD(bytes, row) \
	PREFETCHT0 bytes+0(R8)row   \
	PREFETCHT0 bytes+64(R8)row  \
	PREFETCHT0 bytes+128(R8)row \
	PREFETCHT0 bytes+192(R8)row

// TIMESB multiplies by Bᵀ.
#define TIMESB(a, b, c, d, p, q, r, s) \
	SUB c, a, p \
	ADD c, b, q \
	SUB b, c, r \
	SUB b, d, s

// STORE4 stores four components at DI.
#define STORE4(a, b, c, d) \
	MOV  a, (DI)          \
	MOV  b, (DI)(R14*1)   \
	MOV  c, (DI)(R14*2)   \
	MOV  d, (DI)(R15*1)   \
	LEAQ (DI)(R14*4), DI

// ROWBASES makes SI, AX, BX and DX the bases of the four rows of components at SI.
#define ROWBASES \
	SUBQ R14, SI          \
	LEAQ (SI)(R14*4), AX  \
	LEAQ (SI)(R14*8), BX  \
	LEAQ (BX)(R14*4), DX

#define NEXTROWS(stride) \
	ADDQ stride, SI \
	ADDQ stride, AX \
	ADDQ stride, BX \
	ADDQ stride, DX

#define NEXTCOMPONENT(arg, at) \
	MOVQ arg, AX     \
	SHLQ $SHIFT, AX  \
	ADDQ AX, at
