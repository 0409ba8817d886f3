// Sizes and instructions for float32, under the names the shared sources use.

#include "textflag.h"

#define SIZE 4
#define SHIFT 2
#define LANES 4
#define EXPONENT 23
#define CONSTANTS ·constants32(SB)
#define LOADCODE 0xbd400000
#define LOAD1 FMOVS
#define T 0
#define INDEX(i) (((i)&1)<<21 | ((i)&2)<<10)

#include "neon_arm64.h"
