#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_mve_sigmoid.h"

#define TINYRT_KERNEL tinyrt_logistic_s16
#define TINYRT_FUNCTION tinyrt_mve_logistic
#include "tinyrt_mve_sigmoid_loop.h"
