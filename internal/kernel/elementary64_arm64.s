//go:build !noasm

#include "names64_arm64.h"
#include "polynomials64_arm64.h"
#include "elementary_arm64.h"

// func exp64(dst, src *float64, n int)
TEXT ·exp64(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh64(dst, src *float64, n int)
TEXT ·tanh64(SB), NOSPLIT, $0-24
	UNARY(TANHBODY)

// func sigmoid64(dst, src *float64, n int)
TEXT ·sigmoid64(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log64(dst, src *float64, n int)
TEXT ·log64(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus64(dst, src *float64, n int)
TEXT ·softplus64(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)
