//go:build !noasm

#include "names32_arm64.h"
#include "tile_arm64.h"

#define LOADA4 VLOAD(0, 1, 26)
#define LOADA8 VLOAD2(0, 1, 26, 27)
#define LOADA12 LOADA8 ; VLOAD(2, 1, 28)

// func tile32(k int, alpha float32, a, b *float32, ldb int, c *float32, ldc, rows, add int)
TEXT ·tile32(SB), NOSPLIT, $0-72
	TILE
