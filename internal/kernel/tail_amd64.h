#define LANES (32/SIZE)

// TAILMASK ends a loop over vectors of LANES elements, by which CX is below what is
// left: it sets m to select that many. It overwrites AX and CX.
#define TAILMASK(m) \
	ADDQ    $LANES, CX            \
	SHLQ    $SHIFT, CX            \
	LEAQ    ·laneMask+128(SB), AX \
	SUBQ    CX, AX                \
	VMOVDQU (AX), m
