#include "tinyrt_depthwise3x3.h"

#define TINYRT_WEIGHT_BITS 8
#define TINYRT_SIGNED
#define TINYRT_KERNEL tinyrt_depthwise3x3_signed_s8
#include "tinyrt_depthwise3x3_loop.h"
