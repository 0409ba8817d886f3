//go:build !noasm

#include "names64_amd64.h"
#include "solve_amd64.h"

// func solve64(l, b *float64, ldb, n int)
TEXT ·solve64(SB), NOSPLIT, $0-32
	SOLVE8
