// Instructions and sizes for float32, under the names the shared sources use.

#include "textflag.h"

#define SIZE 4
#define SHIFT 2
#define EXPONENT 23
#define CONSTANTS ·constants32(SB)
#define MOV VMOVUPS
#define BCAST VBROADCASTSS
#define MASKMOV VMASKMOVPS
#define ADD VADDPS
#define SUB VSUBPS
#define MUL VMULPS
#define DIV VDIVPS
#define SQRT VSQRTPS
#define MIN VMINPS
#define MAX VMAXPS
#define AND VANDPS
#define ANDN VANDNPS
#define OR VORPS
#define XOR VXORPS
#define CMP VCMPPS
#define BLENDV VBLENDVPS
#define BLENDM VBLENDMPS
#define FMA213 VFMADD213PS
#define FMA231 VFMADD231PS
#define FNMA231 VFNMADD231PS
#define FMS213 VFMSUB213PS
#define IADD VPADDD
#define SHL VPSLLD
#define SHR VPSRLD
