#include "tinyrt_winograd.h"

#include "tinyrt_winograd_loop.h"

void tinyrt_winograd_s8(const tinyrt_winograd_s8_params *p, const int8_t *x,
                        tinyrt_taps_word *tiles, int32_t *sums, int8_t *y) {
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; oy += 2) {
            for (int32_t ox = 0; ox < p->y.w; ox += 4) {
                tinyrt_two_tiles(p, x, oy, ox, 1, tiles, sums, y);
            }
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->y.h * p->y_line_step;
    }
}
