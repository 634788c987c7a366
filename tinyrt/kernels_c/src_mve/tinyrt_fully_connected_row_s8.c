#include "tinyrt_fully_connected_mve.h"

#include "tinyrt_product_row_s8.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_KERNEL tinyrt_fully_connected_row_s8
#define TINYRT_PRODUCT_ROW tinyrt_product_row_s8
#include "tinyrt_fully_connected_row_loop.h"
