#include "tinyrt_product_s4.h"

#include "tinyrt_product_row_s4.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_KERNEL tinyrt_product_s4
#define TINYRT_PRODUCT_ROW tinyrt_product_row_s4
#include "tinyrt_product_loop.h"
