#include "tinyrt_dense_row.h"

#include "tinyrt_dot_eight.h"
#include "tinyrt_sparse_run.h"

/** As tinyrt_dot_eight over the runs of eight channels. */
static inline const int32_t *dot_eight(const int32_t *w, const int8_t *x, int32_t *acc) {
    tinyrt_sparse_run run;
    do {
        run = tinyrt_sparse_run_of(*w);
        w = tinyrt_dot_eight(w + 1, x + run.first, run.taps, acc);
    } while (!run.last);
    return w;
}

/** Two channels: the first one's sum, and 256 times the second one's plus the first one's. */
static inline void finish_two(const int32_t *acc, const int32_t *mult, const int8_t *shift,
                              int32_t zp, int8_t *y) {
    const int32_t even = (int32_t)((uint32_t)acc[0] << 1);
    const int32_t odd = (int32_t)((uint32_t)acc[1] - (uint32_t)acc[0]) >> 7;
    y[0] = tinyrt_requant_doubled(even, mult[0], shift[0], zp);
    y[1] = tinyrt_requant_doubled(odd, mult[1], shift[1], zp);
}

void tinyrt_dense_row_sparse_s8(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                                tinyrt_taps_word *column, int8_t *y) {
    /* A copy: the compiler need not read it again after each output. */
    tinyrt_block_s8_params block = p->block;
    const int32_t zp = (2 * block.y_zp) + 1;
    (void)column;
    for (int32_t left = block.c_out; left > 0; left -= 8) {
        int32_t acc[8];
        int8_t last[8];
        int8_t *const eight = (left >= 8) ? y : last;
        for (int32_t i = 0; i < 8; ++i) {
            acc[i] = *block.init++;
        }
        block.w = dot_eight(block.w, x, acc);
        for (int32_t i = 0; i < 8; i += 4) {
            finish_two(acc + i, block.mult, block.shift, zp, eight + i);
            finish_two(acc + i + 2, block.mult + 2, block.shift + 2, zp, eight + i + 2);
            block.mult += block.requant_step;
            block.shift += block.requant_step;
        }
        for (int32_t i = 0; (i < left) && (left < 8); ++i) {
            TINYRT_SHORT_LOOP;
            y[i] = last[i];
        }
        y += 8;
    }
}
