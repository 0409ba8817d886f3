//go:build !noasm

#include "names64_amd64.h"
#include "avx2_amd64.h"
#include "polynomials64_amd64.h"
#include "elementary_amd64.h"

// func exp64AVX2(dst, src *float64, n int)
TEXT ·exp64AVX2(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh64AVX2(dst, src *float64, n int)
TEXT ·tanh64AVX2(SB), NOSPLIT, $8-24
	FLUSHED(TANHBODY)

// func sigmoid64AVX2(dst, src *float64, n int)
TEXT ·sigmoid64AVX2(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log64AVX2(dst, src *float64, n int)
TEXT ·log64AVX2(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus64AVX2(dst, src *float64, n int)
TEXT ·softplus64AVX2(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)
