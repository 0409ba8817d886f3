// Sizes and instructions for float64, under the names the shared sources use.

#include "textflag.h"

#define SIZE 8
#define SHIFT 3
#define LANES 2
#define EXPONENT 52
#define CONSTANTS ·constants64(SB)
#define LOADCODE 0xfd400000
#define LOAD1 FMOVD
#define T 0x400000
#define INDEX(i) ((i)<<11)

#include "neon_arm64.h"
