// EXPPOLY computes q(r), r in V0, in V2 by Horner's rule.
#define EXPPOLY \
	MOV    EXPC(10), V2     \
	FMA213 EXPC(9), V0, V2 \
	FMA213 EXPC(8), V0, V2 \
	FMA213 EXPC(7), V0, V2 \
	FMA213 EXPC(6), V0, V2 \
	FMA213 EXPC(5), V0, V2 \
	FMA213 EXPC(4), V0, V2 \
	FMA213 EXPC(3), V0, V2 \
	FMA213 EXPC(2), V0, V2 \
	FMA213 EXPC(1), V0, V2 \
	FMA213 EXPC(0), V0, V2

// LOGPOLY computes L(s²), s² in V3, in V4.
#define LOGPOLY \
	MOV    LOGC(7), V4     \
	FMA213 LOGC(6), V3, V4 \
	FMA213 LOGC(5), V3, V4 \
	FMA213 LOGC(4), V3, V4 \
	FMA213 LOGC(3), V3, V4 \
	FMA213 LOGC(2), V3, V4 \
	FMA213 LOGC(1), V3, V4 \
	FMA213 LOGC(0), V3, V4
