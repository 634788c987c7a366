#include "tinyrt_arg.h"

#define TINYRT_ELEMENT int8_t
#define TINYRT_BEST int32_t
#define TINYRT_BETTER(a, b) ((a) < (b))
#define TINYRT_MOST_OF_BYTES tinyrt_min_bytes
#define TINYRT_MOST_OF_VECTORS vminq_m_s8
#define TINYRT_MOST_IN_VECTOR vminvq_s8
#include "tinyrt_place_s8.h"

void tinyrt_arg_min_s8_s64(const tinyrt_arg_params *p, const int8_t *x, int64_t *y) {
    tinyrt_each_place(tinyrt_place, p, x, y);
}
