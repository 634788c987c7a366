#include "tinyrt_product_row_s4.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_KERNEL tinyrt_product_row_s4
#include "tinyrt_product_row_loop.h"
