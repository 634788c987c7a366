#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_sigmoid_of.h"

#define TINYRT_KERNEL tinyrt_tanh_short_s16
#define TINYRT_NUMBERS tinyrt_tanh_numbers
#define TINYRT_BY tinyrt_tanh_by
#define TINYRT_LOW(pair, value) tinyrt_low_of_15(pair, value)
#define TINYRT_HIGH(pair, value) tinyrt_high_of_15(pair, value)
#include "tinyrt_sigmoid_pairs_loop.h"
