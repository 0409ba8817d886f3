// Vectors of 64 bytes. Masks have registers of their own.

#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define MASK K1
#define WIDTH 64

// SELECT sets d to b where the mask is set and to a elsewhere.
#define SELECT(b, a, d) BLENDM b, a, MASK, d

// SELECTZERO sets d to b where the mask is set and to zero elsewhere.
#define SELECTZERO(b, d) MOV.Z b, MASK, d

// TAIL makes a mask of the first CX bytes for LOADTAIL and STORETAIL.
#define TAIL \
	SHRQ  $SHIFT, CX   \
	MOVQ  $-1, AX      \
	BZHIQ CX, AX, AX   \
	KMOVW AX, K2

#define LOADTAIL(p, d) MOV.Z p, K2, d
#define STORETAIL(s, p) MOV s, K2, p
