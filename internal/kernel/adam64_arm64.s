//go:build !noasm

#include "names64_arm64.h"
#include "adam_arm64.h"

#define LOADCOEFFICIENTS \
	FLDPQ (R4), (F16, F17)   \
	FLDPQ 32(R4), (F18, F19) \
	FMOVD 64(R4), F20

// func adam64(theta, m, v, grad *float64, c *AdamCoefficients[float64], n int)
TEXT ·adam64(SB), NOSPLIT, $0-48
	ADAM
