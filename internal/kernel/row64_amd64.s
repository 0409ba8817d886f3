//go:build !noasm

#include "names64_amd64.h"
#include "row_amd64.h"

// func row64AVX2(y, b *float64, ldb int, x *float64, xstep, k, n, half, add int)
TEXT ·row64AVX2(SB), NOSPLIT, $8-72
	ROWTIMES

// func rowPut64AVX2(c, y *float64, alpha float64, n, add int)
TEXT ·rowPut64AVX2(SB), NOSPLIT, $8-40
	ROWPUT
