#include "tinyrt_depthwise_conv2d_mve.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_BANDS
#define TINYRT_KERNEL tinyrt_depthwise_bands_s4
#include "tinyrt_depthwise_mve_loop.h"
