#include "tinyrt_depthwise_planes.h"

#define TINYRT_BANDS
#define TINYRT_KERNEL tinyrt_depthwise_plane_bands_s8
#include "tinyrt_depthwise_planes_loop.h"
