//go:build !noasm

#include "names32_amd64.h"
#include "tile_amd64.h"

// func tile32AVX512(k int, alpha float32, a *float32, arow, astep int, b *float32, ldb int, c *float32, ldc, rows, cols, add, ahead, pace int)
TEXT ·tile32AVX512(SB), NOSPLIT, $8-112
	TILE512

// func tile32AVX2(k int, alpha float32, a *float32, arow, astep int, b *float32, ldb int, c *float32, ldc, rows, cols, add int)
TEXT ·tile32AVX2(SB), NOSPLIT, $8-96
	TILE256
