//go:build !noasm

#include "names64_amd64.h"
#include "window_amd64.h"

// func window64AVX512(count int, steps *step, a *float64, arow int, b0, b1, b2, c *float64, ldc, rows, cols, add int)
TEXT ·window64AVX512(SB), NOSPLIT, $8-96
	WINDOW512

// func window64AVX2(count int, steps *step, a *float64, arow int, b0, b1, b2, c *float64, ldc, rows, cols, add int)
TEXT ·window64AVX2(SB), NOSPLIT, $8-96
	WINDOW256
