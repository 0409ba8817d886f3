//go:build !noasm

#include "names32_amd64.h"
#include "gram_amd64.h"

// func gram32AVX512(x, y *float32, ld, n int, sums *float32)
TEXT ·gram32AVX512(SB), NOSPLIT, $0-40
	GRAM512
