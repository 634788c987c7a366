#include "tinyrt_transpose_conv.h"

#include "tinyrt_float.h"

#define TINYRT_KERNEL tinyrt_transpose_conv_f32
#define TINYRT_PARAMS tinyrt_transpose_conv_f32_params
#define TINYRT_X float
#define TINYRT_W float
#define TINYRT_SUM float
#define TINYRT_ADD_PRODUCT(p, sum, x, w) tinyrt_mlaf(sum, x, w)
#define TINYRT_FINISH(p, c, sum, bias) tinyrt_clampf((sum) + (bias), (p)->act_min, (p)->act_max)
#include "tinyrt_transpose_conv_loop.h"
