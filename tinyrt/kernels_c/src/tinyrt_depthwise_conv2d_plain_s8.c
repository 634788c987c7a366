#include "tinyrt_depthwise_conv2d.h"

#include "tinyrt_fixedpoint.h"

#define TINYRT_KERNEL tinyrt_depthwise_conv2d_plain_s8
#define TINYRT_PARAMS tinyrt_depthwise_conv2d_plain_s8_params
#define TINYRT_X int8_t
#define TINYRT_W int8_t
#define TINYRT_Y int8_t *
#define TINYRT_SUM int32_t
/* The bias comes last: so compilers keep more of the loops in registers. */
#define TINYRT_FIRST(bias, c) 0
#define TINYRT_ADD_PRODUCT(p, sum, x, w) ((sum) + ((x) - (p)->x_zp) * (w))
#define TINYRT_FINISH(p, c, sum, bias)                                                             \
    tinyrt_requant_channel(&(p)->requant, c, tinyrt_add_wrapping(sum, TINYRT_BIAS_OF(bias, c)))
#include "tinyrt_depthwise_conv2d_loop.h"
