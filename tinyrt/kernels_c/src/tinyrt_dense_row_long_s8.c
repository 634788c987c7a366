#include "tinyrt_dense_row.h"

#include "tinyrt_row.h"

/** Taps whose sums stay below 2^23, whatever the weights: 496 * 2^14. */
#define MOST_TAPS 496

/** The sums of some channels, up to eight, of which two share one while they add up: without the
 *  even one's, what is left of the odd one's is a multiple of 256. Returns the end of w. */
static TINYRT_NOINLINE const int32_t *sums_of(const int32_t *w, const int8_t *x, int32_t taps,
                                              int32_t channels, int32_t *sum) {
    for (int32_t some; taps > 0; taps -= some, x += some) {
        int32_t acc[TINYRT_ROW_CHANNELS] = {0};
        some = (taps < MOST_TAPS) ? taps : MOST_TAPS;
        const tinyrt_row row = tinyrt_row_of(x, some);
        w = tinyrt_dot_channels(w, &row, channels, acc);
        for (int32_t i = 0; i < channels; i += 2) {
            sum[i] += acc[i];
            sum[i + 1] += (int32_t)((uint32_t)acc[i + 1] - (uint32_t)acc[i]) >> 8;
        }
    }
    return w;
}

void tinyrt_dense_row_long_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x, int8_t *y) {
    tinyrt_block_s8_params block = p->block;
    const int32_t zp = (2 * block.y_zp) + 1;
    const int32_t taps = p->c_in;
    for (int32_t left = block.c_out; left > 0;) {
        const int32_t channels = (left > 4) ? TINYRT_ROW_CHANNELS : 4;
        int32_t sum[TINYRT_ROW_CHANNELS];
        for (int32_t i = 0; i < channels; ++i) {
            sum[i] = *block.init++;
        }
        block.w = sums_of(block.w, x, taps, channels, sum);
        for (int32_t i = 0; (i < channels) && (left > 0); ++i, --left) {
            const int32_t at = i & 3;
            *y++ = tinyrt_requant_any(sum[i], block.mult[at], block.shift[at], zp);
            if (at == 3) {
                block.mult += block.requant_step;
                block.shift += block.requant_step;
            }
        }
    }
}
