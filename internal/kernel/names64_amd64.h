// Instructions and sizes for float64, under the names the shared sources use.

#include "textflag.h"

#define SIZE 8
#define SHIFT 3
#define EXPONENT 52
#define CONSTANTS ·constants64(SB)
#define MOV VMOVUPD
#define BCAST VBROADCASTSD
#define MASKMOV VMASKMOVPD
#define ADD VADDPD
#define SUB VSUBPD
#define MUL VMULPD
#define DIV VDIVPD
#define SQRT VSQRTPD
#define MIN VMINPD
#define MAX VMAXPD
#define AND VANDPD
#define ANDN VANDNPD
#define OR VORPD
#define XOR VXORPD
#define CMP VCMPPD
#define BLENDV VBLENDVPD
#define BLENDM VBLENDMPD
#define FMA213 VFMADD213PD
#define FMA231 VFMADD231PD
#define FNMA231 VFNMADD231PD
#define FMS213 VFMSUB213PD
#define IADD VPADDQ
#define SHL VPSLLQ
#define SHR VPSRLQ
