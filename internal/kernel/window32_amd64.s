//go:build !noasm

#include "names32_amd64.h"
#include "window_amd64.h"

// func window32AVX512(count int, steps *step, a *float32, arow int, b0, b1, b2, c *float32, ldc, rows, cols, add int)
TEXT ·window32AVX512(SB), NOSPLIT, $8-96
	WINDOW512

// func window32AVX2(count int, steps *step, a *float32, arow int, b0, b1, b2, c *float32, ldc, rows, cols, add int)
TEXT ·window32AVX2(SB), NOSPLIT, $8-96
	WINDOW256
