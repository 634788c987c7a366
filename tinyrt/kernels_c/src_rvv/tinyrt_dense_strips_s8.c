#include "tinyrt_strips.h"

#include "tinyrt_strip.h"

void tinyrt_dense_strips_s8(const tinyrt_dense_strips_s8_params *p, const int8_t *x,
                            const int8_t *w, int8_t *y) {
    const tinyrt_strips *const strips = &p->strips;
    for (int32_t left = p->rows; left > 0;) {
        const int32_t count = tinyrt_strip_count(strips, left);
        const tinyrt_strip_pixels at = {x, strips->run, y};
        tinyrt_strips_of(strips, count, w, at);
        x += count * strips->run;
        y += count * strips->stride;
        left -= count;
    }
}
