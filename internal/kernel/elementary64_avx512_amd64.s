//go:build !noasm

#include "names64_amd64.h"
#include "avx512_amd64.h"
#include "polynomials64_amd64.h"
#include "elementary_amd64.h"

// func exp64AVX512(dst, src *float64, n int)
TEXT ·exp64AVX512(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh64AVX512(dst, src *float64, n int)
TEXT ·tanh64AVX512(SB), NOSPLIT, $8-24
	FLUSHED(TANHBODY)

// func sigmoid64AVX512(dst, src *float64, n int)
TEXT ·sigmoid64AVX512(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log64AVX512(dst, src *float64, n int)
TEXT ·log64AVX512(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus64AVX512(dst, src *float64, n int)
TEXT ·softplus64AVX512(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)
