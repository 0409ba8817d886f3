//go:build !noasm

#include "names64_arm64.h"
#include "window_arm64.h"

// func window64(count int, steps *step, a *float64, arow int, b0, b1, b2, c *float64, ldc, rows, pairs, add int)
TEXT ·window64(SB), NOSPLIT, $0-96
	WINDOW
