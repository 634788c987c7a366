#include "tinyrt_depthwise_conv2d_mve.h"

#define TINYRT_WEIGHT_BITS 16
#define TINYRT_KERNEL tinyrt_depthwise_conv2d_wide_s8
#include "tinyrt_depthwise_mve_loop.h"
