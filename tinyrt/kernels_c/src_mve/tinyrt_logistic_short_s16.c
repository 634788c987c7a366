#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_mve.h"

#define TINYRT_KERNEL tinyrt_logistic_short_s16
#define TINYRT_BITS 9
#define TINYRT_PART "vmulh.u16"
#define TINYRT_PART_OF vmulhq_u16
#define TINYRT_LESS "vhsub.s16"
#define TINYRT_LESS_OF vhsubq_s16
#define TINYRT_MIDDLE (1 << 14)
#define TINYRT_ADD_MIDDLE "vadd.i16 q3, q3, %[middle]\n"
#include "tinyrt_mve_sigmoid_loop.h"
