//go:build !noasm

#include "textflag.h"

#define SIZE 8
#define SHIFT 3
#define MOV VMOVUPD
#define BCAST VBROADCASTSD
#define MUL VMULPD
#define FNMA231 VFNMADD231PD
#define MASKMOV VMASKMOVPD

#include "solve_amd64.h"

// func solve64AVX2(l, b *float64, ldb, n int)
TEXT ·solve64AVX2(SB), NOSPLIT, $0-32
	SOLVE8
