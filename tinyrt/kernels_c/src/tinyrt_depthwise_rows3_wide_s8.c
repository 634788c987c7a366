#include "tinyrt_depthwise3x3.h"

#define TINYRT_WEIGHT_BITS 16
#define TINYRT_KERNEL tinyrt_depthwise_rows3_wide_s8
#include "tinyrt_depthwise_rows3_loop.h"
