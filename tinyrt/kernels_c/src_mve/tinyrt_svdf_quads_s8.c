#include "tinyrt_svdf_quads.h"

#define TINYRT_KERNEL tinyrt_svdf_quads_s8
#define TINYRT_STATE_BITS 8
#include "tinyrt_svdf_mve_loop.h"
