//go:build !noasm

#include "names32_amd64.h"
#include "row_amd64.h"

// func row32AVX2(y, b *float32, ldb int, x *float32, xstep, k, n, half, add int)
TEXT ·row32AVX2(SB), NOSPLIT, $8-72
	ROWTIMES

// func rowPut32AVX2(c, y *float32, alpha float32, n, add int)
TEXT ·rowPut32AVX2(SB), NOSPLIT, $8-40
	ROWPUT
