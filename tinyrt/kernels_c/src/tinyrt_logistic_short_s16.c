#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_sigmoid_of.h"

#define TINYRT_KERNEL tinyrt_logistic_short_s16
#define TINYRT_FUNCTION tinyrt_logistic_of
#include "tinyrt_sigmoid_loop.h"
