#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_sigmoid_of.h"

#define TINYRT_KERNEL tinyrt_tanh_short_s16
#define TINYRT_FUNCTION tinyrt_tanh_of
#include "tinyrt_sigmoid_loop.h"
