#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_mve.h"

#define TINYRT_KERNEL tinyrt_tanh_short_s16
#define TINYRT_BITS 8
#define TINYRT_BETWEEN(first, slope, rest) \
    vsubq_s16(first, vreinterpretq_s16_u16(vrmulhq_u16(slope, rest)))
#define TINYRT_MIDDLE(value) value
#include "tinyrt_mve_sigmoid_loop.h"
