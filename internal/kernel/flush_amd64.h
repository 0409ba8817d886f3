// Subnormal numbers count as zero in products: an operation on one takes a hundred
// times as long, and networks whose weights have decayed are full of them. FLUSH and
// UNFLUSH bracket a micro-kernel, whose frame has at least 8 bytes; FLUSH overwrites AX.

#define FLUSH \
	STMXCSR old-4(SP)     \
	MOVL    old-4(SP), AX \
	ORL     $0x8040, AX   \
	MOVL    AX, new-8(SP) \
	LDMXCSR new-8(SP)

#define UNFLUSH \
	LDMXCSR old-4(SP)
