// Vectors of 32 bytes. A mask is a vector, too.

#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y10
#define MASK Y9
#define WIDTH 32

// SELECT sets d to b where the mask is set and to a elsewhere.
#define SELECT(b, a, d) BLENDV MASK, b, a, d

// SELECTZERO sets d to b where the mask is set and to zero elsewhere.
#define SELECTZERO(b, d) AND b, MASK, d

// TAIL makes a mask of the first CX bytes for LOADTAIL and STORETAIL.
#define TAIL \
	LEAQ    ·laneMask+128(SB), AX \
	SUBQ    CX, AX                \
	VMOVDQU (AX), Y15

#define LOADTAIL(p, d) MASKMOV p, Y15, d
#define STORETAIL(s, p) MASKMOV s, Y15, p
