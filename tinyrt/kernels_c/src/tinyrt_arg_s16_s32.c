#include "tinyrt_arg.h"

void tinyrt_arg_s16_s32(const tinyrt_arg_params *p, const int16_t *x, int32_t *y) {
    const int32_t turn = p->least ? -1 : 0;
    for (int32_t outer = 0; outer < p->outer; ++outer) {
        for (int32_t inner = 0; inner < p->inner; ++inner) {
            *y++ = tinyrt_place_s16(p, turn, x + inner);
        }
        x += p->depth * p->inner;
    }
}
