//go:build !noasm

#include "names32_arm64.h"
#include "window_arm64.h"

// func window32(count int, steps *step, a *float32, arow int, b0, b1, b2, c *float32, ldc, rows, pairs, add int)
TEXT ·window32(SB), NOSPLIT, $0-96
	WINDOW
