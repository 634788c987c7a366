#include "tinyrt_conv2d_mve.h"

#include "tinyrt_product_s8.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_PRODUCT tinyrt_product_s8
#define TINYRT_KERNEL tinyrt_conv2d_s8
#include "tinyrt_conv2d_mve_loop.h"
