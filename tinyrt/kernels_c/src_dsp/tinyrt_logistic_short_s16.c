#include "tinyrt_sigmoid_s16.h"

#include "tinyrt_sigmoid_of.h"

#define TINYRT_KERNEL tinyrt_logistic_short_s16
#define TINYRT_NUMBERS tinyrt_logistic_numbers
#define TINYRT_BY tinyrt_logistic_by
#define TINYRT_LOW(pair, value) tinyrt_high_halves((uint32_t)(value), pair)
#define TINYRT_HIGH(pair, value) tinyrt_low_and_high(pair, (uint32_t)(value))
#include "tinyrt_sigmoid_pairs_loop.h"
