#include "tinyrt_conv2d_wide.h"

#define TINYRT_KERNEL tinyrt_conv2d_plain_s16
#define TINYRT_PARAMS tinyrt_conv2d_plain_s16_params
#define TINYRT_X int16_t
#define TINYRT_W int8_t
#define TINYRT_SUM int64_t
#define TINYRT_ADD_PRODUCT(p, sum, x, w) ((sum) + ((x) * (w)))
#define TINYRT_FINISH(p, c, sum, bias)                                                             \
    tinyrt_requant_s16(&(p)->requant, c, tinyrt_add_wide(sum, bias))
#include "tinyrt_conv2d_loop.h"
