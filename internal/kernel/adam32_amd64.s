//go:build !noasm

#include "names32_amd64.h"
#include "flush_amd64.h"
#include "adam_amd64.h"

// func adam32(theta, m, v, grad *float32, c *AdamCoefficients[float32], n int)
TEXT ·adam32(SB), NOSPLIT, $8-48
	ADAM
