#include "tinyrt_arg.h"

#define TINYRT_ELEMENT int16_t
#define TINYRT_BEST int32_t
#define TINYRT_BETTER(a, b) ((a) > (b))
#include "tinyrt_arg_loop.h"

void tinyrt_arg_max_s16_s32(const tinyrt_arg_params *p, const int16_t *x, int32_t *y) {
    tinyrt_each_place(tinyrt_place_one_by_one, p, x, y);
}
