//go:build !noasm

#include "names64_amd64.h"
#include "flush_amd64.h"
#include "adam_amd64.h"

// func adam64(theta, m, v, grad *float64, c *AdamCoefficients[float64], n int)
TEXT ·adam64(SB), NOSPLIT, $8-48
	ADAM
