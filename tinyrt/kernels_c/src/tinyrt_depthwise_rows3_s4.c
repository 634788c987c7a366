#include "tinyrt_depthwise3x3.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_KERNEL tinyrt_depthwise_rows3_s4
#include "tinyrt_depthwise_rows3_loop.h"
