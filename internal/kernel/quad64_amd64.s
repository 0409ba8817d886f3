//go:build !noasm

#include "names64_amd64.h"

#define QUARTER VBROADCASTF64X2
#define QUARTERS 0x55
#define EXTRACT VEXTRACTF64X4
#define ROW1 Y24
#define ROW2 Y25

// order64 turns four quarters of two elements: the first of each and the second of each.
DATA order64<>+0(SB)/8, $0
DATA order64<>+8(SB)/8, $2
DATA order64<>+16(SB)/8, $4
DATA order64<>+24(SB)/8, $6
DATA order64<>+32(SB)/8, $1
DATA order64<>+40(SB)/8, $3
DATA order64<>+48(SB)/8, $5
DATA order64<>+56(SB)/8, $7
GLOBL order64<>(SB), RODATA|NOPTR, $64
#define ORDER order64<>(SB)

// PUT2 stores two rows, of which the sum of each quarter is an element.
#define PUT2(a, b) \
	VUNPCKLPD b, a, Z24   \
	VUNPCKHPD b, a, Z25   \
	ADD       Z24, Z25, a \
	VPERMPD   a, Z27, a   \
	PUT(0, a)             \
	PUT(1, a)

#define PUT4(a, b, c, d) \
	PUT2(a, b) \
	PUT2(c, d)

#include "quad_amd64.h"

// func quad64AVX512(k int, a *float64, arow int, b, c *float64, ldc, rows, cols, add int)
TEXT ·quad64AVX512(SB), NOSPLIT, $8-72
	QUAD512
