//go:build !noasm

#include "names64_arm64.h"
#include "tile_arm64.h"

#define LOADA4 VLOAD2(0, 1, 26, 27)
#define LOADA8 LOADA4 ; VLOAD2(2, 1, 28, 29)
#define LOADA12 LOADA8 ; VLOAD2(4, 1, 30, 31)

// func tile64(k int, alpha float64, a, b *float64, ldb int, c *float64, ldc, rows, add int)
TEXT ·tile64(SB), NOSPLIT, $0-72
	TILE
