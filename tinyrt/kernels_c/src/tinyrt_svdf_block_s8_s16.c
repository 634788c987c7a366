#include "tinyrt_svdf_block.h"

#define TINYRT_KERNEL tinyrt_svdf_block_s8_s16
#define TINYRT_STATE int16_t
#define TINYRT_SATURATE tinyrt_saturate_s16
#define TINYRT_PAST tinyrt_past_s16
#include "tinyrt_svdf_block_loop.h"
