// Vector instructions. Go's assembler has few of those on floating-point numbers, so all are
// given by their codes. Registers are numbers: 3 is V3. The order is Go's: VFSUB(m, n, d)
// computes d = n - m. A vector has LANES elements; see names*_arm64.h, which define T, the
// bit of the element's type.

#define VOP(code, m, n, d) WORD $((code) | T | (m)<<16 | (n)<<5 | (d))

#define VFADD(m, n, d)  VOP(0x4e20d400, m, n, d)
#define VFSUB(m, n, d)  VOP(0x4ea0d400, m, n, d)
#define VFMUL(m, n, d)  VOP(0x6e20dc00, m, n, d)
#define VFDIV(m, n, d)  VOP(0x6e20fc00, m, n, d)
#define VFMLA(m, n, d)  VOP(0x4e20cc00, m, n, d) // d += n·m
#define VFMLS(m, n, d)  VOP(0x4ea0cc00, m, n, d) // d -= n·m
#define VFMAX(m, n, d)  VOP(0x4e20f400, m, n, d) // NaN if either is
#define VFMIN(m, n, d)  VOP(0x4ea0f400, m, n, d)
#define VFADDP(m, n, d) VOP(0x6e20d400, m, n, d) // sums of neighbours, of n and then of m
#define VFCMGE(m, n, d) VOP(0x6e20e400, m, n, d) // all bits of d where n >= m
#define VFCMGT(m, n, d) VOP(0x6ea0e400, m, n, d)
#define VIADD(m, n, d)  VOP(0x4ea08400, m, n, d) // of integers
#define VISUB(m, n, d)  VOP(0x6ea08400, m, n, d)

#define VFABS(n, d)   VOP(0x4ea0f800, 0, n, d)
#define VFNEG(n, d)   VOP(0x6ea0f800, 0, n, d)
#define VFSQRT(n, d)  VOP(0x6ea1f800, 0, n, d)
#define VFROUND(n, d) VOP(0x4e218800, 0, n, d) // to the nearest integer, halves to even
#define VFTOI(n, d)   VOP(0x4ea1b800, 0, n, d) // to an integer
#define VFGTZ(n, d)   VOP(0x4ea0c800, 0, n, d) // all bits of d where n > 0
#define VFEQZ(n, d)   VOP(0x4ea0d800, 0, n, d)
#define VFLTZ(n, d)   VOP(0x4ea0e800, 0, n, d)

// Shifts by a number of bits; SAR keeps the sign.
#define VSHIFTL(bits, n, d) WORD $(0x4f005400 | (8*SIZE+(bits))<<16 | (n)<<5 | (d))
#define VSHIFTR(bits, n, d) WORD $(0x6f000400 | (16*SIZE-(bits))<<16 | (n)<<5 | (d))
#define VSAR(bits, n, d)    WORD $(0x4f000400 | (16*SIZE-(bits))<<16 | (n)<<5 | (d))

// Logic, for which the element's type does not matter.
#define VBITS(code, m, n, d) WORD $((code) | (m)<<16 | (n)<<5 | (d))
#define VBAND(m, n, d) VBITS(0x4e201c00, m, n, d)
#define VBOR(m, n, d)  VBITS(0x4ea01c00, m, n, d)
#define VBSEL(m, n, d) VBITS(0x6e601c00, m, n, d) // d = n where d's bits are set, m elsewhere
#define VBINS(m, n, d) VBITS(0x6ea01c00, m, n, d) // d = n where m's bits are set
#define VBKEEP(m, n, d) VBITS(0x6ee01c00, m, n, d) // d = n where m's bits are clear
#define VCOPY(n, d)    VBOR(n, n, d)

// Operations with element i of the vectors that begin at V(base): d += n·x, -= n·x, = n·x, = x.
#define VELEMENT(code, base, i, n, d) \
	WORD $((code) | T | ((base)+(i)/LANES)<<16 | INDEX((i)%LANES) | (n)<<5 | (d))
#define VFMLAE(base, i, n, d) VELEMENT(0x4f801000, base, i, n, d)
#define VFMLSE(base, i, n, d) VELEMENT(0x4f805000, base, i, n, d)
#define VFMULE(base, i, n, d) VELEMENT(0x4f809000, base, i, n, d)
#define VSPREAD(base, i, d) WORD $(0x4e000400 | (2*((i)%LANES)+1)*SIZE<<16 | ((base)+(i)/LANES)<<5 | (d))

// VLOAD reads vector i behind R(r), VLOADE element i, the rest of the vector being zero.
// VLOAD2 and VSTORE2 move two vectors.
#define VLOAD(i, r, d)  WORD $(0x3dc00000 | (i)<<10 | (r)<<5 | (d))
#define VLOADE(i, r, d) WORD $(LOADCODE | (i)<<10 | (r)<<5 | (d))
#define VLOAD2(i, r, d, e)  WORD $(0xad400000 | (i)<<15 | (e)<<10 | (r)<<5 | (d))
#define VSTORE2(i, r, d, e) WORD $(0xad000000 | (i)<<15 | (e)<<10 | (r)<<5 | (d))
#define VZERO(d) WORD $(0x6f00e400 | (d))
