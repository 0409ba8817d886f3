//go:build !noasm

#include "names64_amd64.h"
#include "avx2_amd64.h"
#include "polynomials64_amd64.h"
#include "elementary_amd64.h"

// func elementary64AVX2(dst, src *float64, n int, f elementary)
TEXT ·elementary64AVX2(SB), NOSPLIT, $0-32
	ELEMENTARY
