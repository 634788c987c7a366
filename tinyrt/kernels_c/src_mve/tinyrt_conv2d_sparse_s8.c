#include "tinyrt_conv2d_mve.h"

#include "tinyrt_product_sparse_s8.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_WEIGHT int32_t
#define TINYRT_PRODUCT tinyrt_product_sparse_s8
#define TINYRT_KERNEL tinyrt_conv2d_sparse_s8
#include "tinyrt_conv2d_mve_loop.h"
