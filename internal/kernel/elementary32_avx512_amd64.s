//go:build !noasm

#include "names32_amd64.h"
#include "avx512_amd64.h"
#include "polynomials32_amd64.h"
#include "elementary_amd64.h"
#include "erf32_amd64.h"

// func elementary32AVX512(dst, src *float32, n int, f elementary)
TEXT ·elementary32AVX512(SB), NOSPLIT, $0-32
	ELEMENTARY32
