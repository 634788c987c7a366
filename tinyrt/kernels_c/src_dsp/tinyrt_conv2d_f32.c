#include "tinyrt_conv2d_float.h"

#define TINYRT_KERNEL tinyrt_conv2d_f32
#include "tinyrt_conv2d_float_loop.h"
