//go:build !noasm

#include "textflag.h"

#define SIZE 4
#define SHIFT 2
#define MOV VMOVUPS
#define BCAST VBROADCASTSS
#define MUL VMULPS
#define FNMA231 VFNMADD231PS
#define MASKMOV VMASKMOVPS

#include "solve_amd64.h"

// func solve32AVX2(l, b *float32, ldb, n int)
TEXT ·solve32AVX2(SB), NOSPLIT, $0-32
	SOLVE8
