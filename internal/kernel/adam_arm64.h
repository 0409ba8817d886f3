// A step of Adam, once for both element types; see names*_arm64.h.
//
// Registers: R0 θ, R1 m, R2 v, R3 g, R5 elements left; V16 and following ones the
// coefficients in their order, V24 ε in all elements.

#define ADAMBODY \
	VFMLAE(16, 7, 0, 1) \ // g + coupled·θ
	VFMULE(16, 0, 2, 2) \
	VFMLAE(16, 1, 1, 2) \
	VFMULE(16, 2, 3, 3) \
	VFMULE(16, 3, 1, 4) \
	VFMLA(4, 1, 3)      \
	VFSQRT(3, 4)        \
	VCOPY(24, 5)        \
	VFMLAE(16, 5, 4, 5) \
	VFMULE(16, 4, 2, 6) \
	VFDIV(5, 6, 6)      \
	VFMULE(16, 8, 0, 0) \
	VFSUB(6, 0, 0)

#define ADAM \
	MOVD theta+0(FP), R0     \
	MOVD m+8(FP), R1         \
	MOVD v+16(FP), R2        \
	MOVD grad+24(FP), R3     \
	MOVD c+32(FP), R4        \
	MOVD n+40(FP), R5        \
	LOADCOEFFICIENTS         \
	VSPREAD(16, 6, 24)       \
	SUBS $LANES, R5          \
	BLT  rest                \
loop:                        \
	FMOVQ   (R0), F0         \
	FMOVQ.P 16(R3), F1       \
	FMOVQ   (R1), F2         \
	FMOVQ   (R2), F3         \
	ADAMBODY                 \
	FMOVQ   F2, (R1)         \
	FMOVQ   F3, (R2)         \
	FMOVQ   F0, (R0)         \
	ADD  $16, R1             \
	ADD  $16, R2             \
	ADD  $16, R0             \
	SUBS $LANES, R5          \
	BGE  loop                \
rest:                        \
	ADDS $LANES, R5          \
	BEQ  done                \
single:                      \
	LOAD1   (R0), F0         \
	LOAD1.P SIZE(R3), F1     \
	LOAD1   (R1), F2         \
	LOAD1   (R2), F3         \
	ADAMBODY                 \
	LOAD1.P F2, SIZE(R1)     \
	LOAD1.P F3, SIZE(R2)     \
	LOAD1.P F0, SIZE(R0)     \
	SUBS $1, R5              \
	BNE  single              \
done:                        \
	RET
