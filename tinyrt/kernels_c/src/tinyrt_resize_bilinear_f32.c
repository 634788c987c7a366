#include "tinyrt_resize_bilinear.h"

static float between(float first, float second, float share) {
    return first + (second - first) * share;
}

void tinyrt_resize_bilinear_f32(const tinyrt_resize_bilinear_f32_params *p, const float *x,
                                float *y) {
    for (int32_t n = 0; n < p->n; ++n) {
        for (int32_t i = 0; i < p->rows.size; ++i) {
            const float *const above = x + p->rows.first[i];
            const float *const below = x + p->rows.second[i];
            for (int32_t j = 0; j < p->columns.size; ++j) {
                const float share = p->column_share[j];
                int32_t left = p->columns.first[j];
                int32_t right = p->columns.second[j];
                for (int32_t c = 0; c < p->c; ++c, ++left, ++right) {
                    const float upper = between(above[left], above[right], share);
                    const float lower = between(below[left], below[right], share);
                    *y++ = between(upper, lower, p->row_share[i]);
                }
            }
        }
        x += p->x_size;
    }
}
