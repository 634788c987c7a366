#include "tinyrt_svdf.h"

#define TINYRT_KERNEL tinyrt_svdf_s8
#define TINYRT_STATE int8_t
#define TINYRT_STATE_MIN INT8_MIN
#define TINYRT_STATE_MAX INT8_MAX
#include "tinyrt_svdf_loop.h"
