//go:build !noasm

#include "names32_arm64.h"
#include "adam_arm64.h"

#define LOADCOEFFICIENTS \
	FLDPQ (R4), (F16, F17) \
	FMOVS 32(R4), F18

// func adam32(theta, m, v, grad *float32, c *AdamCoefficients[float32], n int)
TEXT ·adam32(SB), NOSPLIT, $0-48
	ADAM
