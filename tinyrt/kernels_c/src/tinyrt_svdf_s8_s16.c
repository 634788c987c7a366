#include "tinyrt_svdf.h"

#define TINYRT_KERNEL tinyrt_svdf_s8_s16
#define TINYRT_STATE int16_t
#define TINYRT_STATE_MIN INT16_MIN
#define TINYRT_STATE_MAX INT16_MAX
#include "tinyrt_svdf_loop.h"
