//go:build !noasm

#include "names64_arm64.h"
#include "polynomials64_arm64.h"
#include "elementary_arm64.h"

// func elementary64(dst, src *float64, n int, f elementary)
TEXT ·elementary64(SB), NOSPLIT, $0-32
	ELEMENTARY
