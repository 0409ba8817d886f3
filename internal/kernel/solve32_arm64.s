//go:build !noasm

#include "names32_arm64.h"
#include "solve_arm64.h"

// func solve32(l, b *float32, ldb, n int)
TEXT ·solve32(SB), NOSPLIT, $0-32
	SOLVE8
