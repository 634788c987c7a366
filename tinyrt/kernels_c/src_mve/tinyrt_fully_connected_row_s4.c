#include "tinyrt_fully_connected_mve.h"

#include "tinyrt_product_row_s4.h"

#define TINYRT_WEIGHT_BITS 4
#define TINYRT_KERNEL tinyrt_fully_connected_row_s4
#define TINYRT_PRODUCT_ROW tinyrt_product_row_s4
#include "tinyrt_fully_connected_row_loop.h"
