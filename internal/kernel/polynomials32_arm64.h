// EXPPOLY computes q(r), r in V0, in V2 by Horner's rule.
#define EXPPOLY \
	CONST(EXPC+5, 3)        \
	HORNER(EXPC+4, 0, 3, 2) \
	HORNER(EXPC+3, 0, 2, 3) \
	HORNER(EXPC+2, 0, 3, 2) \
	HORNER(EXPC+1, 0, 2, 3) \
	HORNER(EXPC, 0, 3, 2)

// LOGPOLY computes L(s²), s² in V3, in V4.
#define LOGPOLY \
	CONST(LOGC+3, 5)        \
	HORNER(LOGC+2, 3, 5, 4) \
	HORNER(LOGC+1, 3, 4, 5) \
	HORNER(LOGC, 3, 5, 4)
