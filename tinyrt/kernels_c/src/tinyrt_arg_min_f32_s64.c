#include "tinyrt_arg.h"

#define TINYRT_ELEMENT float
#define TINYRT_BEST float
#define TINYRT_BETTER(a, b) ((a) < (b))
#include "tinyrt_arg_loop.h"

void tinyrt_arg_min_f32_s64(const tinyrt_arg_params *p, const float *x, int64_t *y) {
    tinyrt_each_place(tinyrt_place_one_by_one, p, x, y);
}
