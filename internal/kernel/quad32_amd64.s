//go:build !noasm

#include "names32_amd64.h"

#define QUARTER VBROADCASTF32X4
#define QUARTERS 0x1111
#define EXTRACT VEXTRACTF32X4
#define ROW1 X24
#define ROW2 X25

// order32 turns four quarters of four elements: the first of each, the second of each and so on.
DATA order32<>+0(SB)/8, $0x0000000400000000
DATA order32<>+8(SB)/8, $0x0000000c00000008
DATA order32<>+16(SB)/8, $0x0000000500000001
DATA order32<>+24(SB)/8, $0x0000000d00000009
DATA order32<>+32(SB)/8, $0x0000000600000002
DATA order32<>+40(SB)/8, $0x0000000e0000000a
DATA order32<>+48(SB)/8, $0x0000000700000003
DATA order32<>+56(SB)/8, $0x0000000f0000000b
GLOBL order32<>(SB), RODATA|NOPTR, $64
#define ORDER order32<>(SB)

// PUT4 stores four rows, of which the sum of each quarter is an element.
#define PUT4(a, b, c, d) \
	VUNPCKLPS b, a, Z24 \
	VUNPCKHPS b, a, Z25 \
	ADD       Z24, Z25, a \
	VUNPCKLPS d, c, Z24 \
	VUNPCKHPS d, c, Z25 \
	ADD       Z24, Z25, c \
	VUNPCKLPD c, a, Z24 \
	VUNPCKHPD c, a, Z25 \
	ADD       Z24, Z25, a \
	VPERMPS   a, Z27, a \
	PUT(0, a)           \
	PUT(1, a)           \
	PUT(2, a)           \
	PUT(3, a)

#include "quad_amd64.h"

// func quad32AVX512(k int, a *float32, arow int, b, c *float32, ldc, rows, cols, add int)
TEXT ·quad32AVX512(SB), NOSPLIT, $8-72
	QUAD512
