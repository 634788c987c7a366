#include "tinyrt_product_s8.h"

#include "tinyrt_product_row_s8.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_KERNEL tinyrt_product_s8
#define TINYRT_PRODUCT_ROW tinyrt_product_row_s8
#include "tinyrt_product_loop.h"
