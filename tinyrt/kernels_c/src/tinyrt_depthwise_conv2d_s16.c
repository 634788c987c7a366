#include "tinyrt_depthwise_wide.h"

#define TINYRT_KERNEL tinyrt_depthwise_conv2d_s16
#define TINYRT_PARAMS tinyrt_depthwise_conv2d_s16_params
#define TINYRT_X int16_t
#define TINYRT_W int8_t
#define TINYRT_Y int16_t *TINYRT_RESTRICT
#define TINYRT_SUM int64_t
#define TINYRT_FIRST(bias, c) TINYRT_BIAS_OF(bias, c)
#define TINYRT_ADD_PRODUCT(p, sum, x, w) tinyrt_add_wide(sum, (x) * (w))
#define TINYRT_FINISH(p, c, sum, bias) tinyrt_requant_s16(&(p)->requant, c, sum)
#include "tinyrt_depthwise_conv2d_loop.h"
