#include "tinyrt_conv2d_mve.h"

#include "tinyrt_product_s4.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_PRODUCT tinyrt_product_s4
#define TINYRT_KERNEL tinyrt_conv2d_s4
#include "tinyrt_conv2d_mve_loop.h"
