#include "tinyrt_product_row_s8.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_KERNEL tinyrt_product_row_s8
#include "tinyrt_product_row_loop.h"
