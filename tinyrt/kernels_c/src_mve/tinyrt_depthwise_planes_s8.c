#include "tinyrt_depthwise_planes.h"

#define TINYRT_KERNEL tinyrt_depthwise_planes_s8
#include "tinyrt_depthwise_planes_loop.h"
