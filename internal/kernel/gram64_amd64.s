//go:build !noasm

#include "names64_amd64.h"
#include "gram_amd64.h"

// func gram64AVX512(x, y *float64, ld, n int, sums *float64)
TEXT ·gram64AVX512(SB), NOSPLIT, $0-40
	GRAM512
