#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_mve.h"

/* round((2^15 - first + slope * rest / 2^16) / 2), halves up, without 2^14 and negated. */
#define TINYRT_KERNEL tinyrt_logistic_short_s16
#define TINYRT_BITS 9
#define TINYRT_BETWEEN(first, slope, rest) \
    vhsubq_s16(first, vreinterpretq_s16_u16(vmulhq_u16(slope, rest)))
#define TINYRT_MIDDLE(value) vaddq_n_s16(value, 1 << 14)
#include "tinyrt_mve_sigmoid_loop.h"
