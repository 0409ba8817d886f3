//go:build !noasm

#include "names32_amd64.h"
#include "avx512_amd64.h"
#include "polynomials32_amd64.h"
#include "elementary_amd64.h"

// func exp32AVX512(dst, src *float32, n int)
TEXT ·exp32AVX512(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh32AVX512(dst, src *float32, n int)
TEXT ·tanh32AVX512(SB), NOSPLIT, $8-24
	FLUSHED(TANHBODY)

// func sigmoid32AVX512(dst, src *float32, n int)
TEXT ·sigmoid32AVX512(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log32AVX512(dst, src *float32, n int)
TEXT ·log32AVX512(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus32AVX512(dst, src *float32, n int)
TEXT ·softplus32AVX512(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)
