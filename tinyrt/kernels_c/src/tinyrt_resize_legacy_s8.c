#include "tinyrt_resize_bilinear.h"

#include "tinyrt_float.h"

/** The share of one pixel, whose value counts from 0. */
static float part(int8_t x, float down, float across) {
    return tinyrt_rounded(tinyrt_rounded((float)(x + 128) * down) * across);
}

void tinyrt_resize_legacy_s8(const tinyrt_resize_bilinear_f32_params *p, const int8_t *x,
                             int8_t *y) {
    for (int32_t n = 0; n < p->n; ++n) {
        for (int32_t i = 0; i < p->rows.size; ++i) {
            const int8_t *const above = x + p->rows.first[i];
            const int8_t *const below = x + p->rows.second[i];
            const float down = p->row_share[i];
            for (int32_t j = 0; j < p->columns.size; ++j) {
                const float across = p->column_share[j];
                int32_t left = p->columns.first[j];
                int32_t right = p->columns.second[j];
                for (int32_t c = 0; c < p->c; ++c, ++left, ++right) {
                    float sum = part(above[left], 1.0F - down, 1.0F - across);
                    sum += part(below[left], down, 1.0F - across);
                    sum += part(above[right], 1.0F - down, across);
                    sum += part(below[right], down, across);
                    *y++ = (int8_t)((int32_t)(sum + 0.5F) - 128);
                }
            }
        }
        x += p->x_size;
    }
}
