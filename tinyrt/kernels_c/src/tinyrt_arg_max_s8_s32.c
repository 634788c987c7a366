#include "tinyrt_arg.h"

#define TINYRT_ELEMENT int8_t
#define TINYRT_BEST int32_t
#define TINYRT_BETTER(a, b) ((a) > (b))
#define TINYRT_MOST_OF_BYTES tinyrt_max_bytes
#define TINYRT_MOST_OF_VECTORS vmaxq_m_s8
#define TINYRT_MOST_IN_VECTOR vmaxvq_s8
#include "tinyrt_place_s8.h"

void tinyrt_arg_max_s8_s32(const tinyrt_arg_params *p, const int8_t *x, int32_t *y) {
    tinyrt_each_place(tinyrt_place, p, x, y);
}
