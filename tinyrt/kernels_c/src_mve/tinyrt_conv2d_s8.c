#include "tinyrt_conv2d_mve.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_KERNEL tinyrt_conv2d_s8
#include "tinyrt_conv2d_mve_loop.h"
