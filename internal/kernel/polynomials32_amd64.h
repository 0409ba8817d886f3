// EXPPOLY computes q(r), r in V0, in V2 by Horner's rule.
#define EXPPOLY \
	MOV    EXPC(5), V2     \
	FMA213 EXPC(4), V0, V2 \
	FMA213 EXPC(3), V0, V2 \
	FMA213 EXPC(2), V0, V2 \
	FMA213 EXPC(1), V0, V2 \
	FMA213 EXPC(0), V0, V2

// LOGPOLY computes L(s²), s² in V3, in V4.
#define LOGPOLY \
	MOV    LOGC(3), V4     \
	FMA213 LOGC(2), V3, V4 \
	FMA213 LOGC(1), V3, V4 \
	FMA213 LOGC(0), V3, V4
