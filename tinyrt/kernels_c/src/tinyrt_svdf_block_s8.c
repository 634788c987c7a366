#include "tinyrt_svdf_block.h"

#define TINYRT_KERNEL tinyrt_svdf_block_s8
#define TINYRT_STATE int8_t
#define TINYRT_SATURATE tinyrt_saturate
#define TINYRT_PAST tinyrt_past_s8
#include "tinyrt_svdf_block_loop.h"
