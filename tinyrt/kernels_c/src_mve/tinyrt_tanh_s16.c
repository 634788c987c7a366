#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_mve_sigmoid.h"

#define TINYRT_KERNEL tinyrt_tanh_s16
#define TINYRT_FUNCTION tinyrt_mve_tanh
#include "tinyrt_mve_sigmoid_loop.h"
