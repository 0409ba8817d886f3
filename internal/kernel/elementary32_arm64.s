//go:build !noasm

#include "names32_arm64.h"
#include "polynomials32_arm64.h"
#include "elementary_arm64.h"

// func exp32(dst, src *float32, n int)
TEXT ·exp32(SB), NOSPLIT, $0-24
	UNARY(EXPBODY)

// func tanh32(dst, src *float32, n int)
TEXT ·tanh32(SB), NOSPLIT, $0-24
	UNARY(TANHBODY)

// func sigmoid32(dst, src *float32, n int)
TEXT ·sigmoid32(SB), NOSPLIT, $0-24
	UNARY(SIGMOIDBODY)

// func log32(dst, src *float32, n int)
TEXT ·log32(SB), NOSPLIT, $0-24
	UNARY(LOGBODY)

// func softplus32(dst, src *float32, n int)
TEXT ·softplus32(SB), NOSPLIT, $0-24
	UNARY(SOFTPLUSBODY)
