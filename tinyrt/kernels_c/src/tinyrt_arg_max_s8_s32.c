#include "tinyrt_arg.h"

#define TINYRT_ELEMENT int8_t
#define TINYRT_BEST int32_t
#define TINYRT_BETTER(a, b) ((a) > (b))
#include "tinyrt_arg_loop.h"

void tinyrt_arg_max_s8_s32(const tinyrt_arg_params *p, const int8_t *x, int32_t *y) {
    tinyrt_each_place(p, x, y);
}
