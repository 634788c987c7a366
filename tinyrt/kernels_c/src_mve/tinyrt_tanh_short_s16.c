#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_mve.h"

#define TINYRT_KERNEL tinyrt_tanh_short_s16
#define TINYRT_BITS 8
#define TINYRT_PART "vrmulh.u16"
#define TINYRT_PART_OF vrmulhq_u16
#define TINYRT_LESS "vsub.i16"
#define TINYRT_LESS_OF vsubq_s16
#define TINYRT_MIDDLE (0)
#define TINYRT_ADD_MIDDLE ""
#include "tinyrt_mve_sigmoid_loop.h"
