#include "tinyrt_resize_bilinear.h"

#define FRACTION_BITS 10
#define ONE (1 << FRACTION_BITS)

/** The four pixels around, of which the first two lie above. */
static void pixel(const int8_t *const x[4], const int32_t share[4], int32_t channels, int8_t *y) {
    for (int32_t c = 0; c < channels; ++c) {
        const int32_t sum = (x[0][c] * share[0]) + (x[1][c] * share[1]) + (x[2][c] * share[2]) +
                            (x[3][c] * share[3]);
        const int32_t half = 1 << (2 * FRACTION_BITS - 1);
        const int32_t away = ((sum < 0) ? -sum : sum) + half;
        const int32_t mean = away >> (2 * FRACTION_BITS);
        y[c] = (int8_t)((sum < 0) ? -mean : mean);
    }
}

void tinyrt_resize_bilinear_s8(const tinyrt_resize_bilinear_s8_params *p, const int8_t *x,
                               int8_t *y) {
    for (int32_t n = 0; n < p->n; ++n) {
        for (int32_t i = 0; i < p->rows.size; ++i) {
            const int8_t *const above = x + p->rows.first[i];
            const int8_t *const below = x + p->rows.second[i];
            const int32_t down = p->row_share[i];
            for (int32_t j = 0; j < p->columns.size; ++j) {
                const int32_t left = p->columns.first[j];
                const int32_t right = p->columns.second[j];
                const int32_t across = p->column_share[j];
                const int8_t *const around[4] = {above + left, above + right, below + left,
                                                 below + right};
                const int32_t share[4] = {(ONE - down) * (ONE - across), (ONE - down) * across,
                                          down * (ONE - across), down * across};
                pixel(around, share, p->c, y);
                y += p->c;
            }
        }
        x += p->x_size;
    }
}
