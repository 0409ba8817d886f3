//go:build !noasm

#include "names32_arm64.h"
#include "polynomials32_arm64.h"
#include "elementary_arm64.h"

// func elementary32(dst, src *float32, n int, f elementary)
TEXT ·elementary32(SB), NOSPLIT, $0-32
	ELEMENTARY
