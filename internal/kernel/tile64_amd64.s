//go:build !noasm

#include "names64_amd64.h"
#include "tile_amd64.h"

// func tile64AVX512(k int, alpha float64, a *float64, arow, astep int, b *float64, ldb int, c *float64, ldc, rows, cols, add, ahead, pace int)
TEXT ·tile64AVX512(SB), NOSPLIT, $8-112
	TILE512

// func tile64AVX2(k int, alpha float64, a *float64, arow, astep int, b *float64, ldb int, c *float64, ldc, rows, cols, add int)
TEXT ·tile64AVX2(SB), NOSPLIT, $8-96
	TILE256
