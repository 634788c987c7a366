#include "tinyrt_block_s4.h"

#include "tinyrt_block_runs.h"
#include "tinyrt_columns_s4.h"

static inline int32_t raised(int32_t acc, int32_t raise) {
    return (int32_t)((uint32_t)acc << raise);
}

/** The four channels' accumulators, shifted left by raise, from the sums of tinyrt_dot_one_s4 and
 * eight times the column's sum, which the nibbles of the first three channels have too much. */
static inline void separate(const int32_t *init, int32_t eight_x, int32_t raise, int32_t *acc) {
    const uint32_t s0 = (uint32_t)acc[0], s1 = (uint32_t)acc[1];
    const uint32_t s2 = (uint32_t)acc[2], s3 = (uint32_t)acc[3];
    const int32_t odd = (int32_t)(s1 - s0) >> 4;
    const int32_t third = (int32_t)s2 >> 8;
    const int32_t fourth = (int32_t)(s3 - s1 - s2) >> 12;
    acc[0] = raised(init[0] + acc[0] - eight_x, raise);
    acc[1] = raised(init[1] + odd - eight_x, raise);
    acc[2] = raised(init[2] + third - eight_x, raise);
    acc[3] = raised(init[3] + fourth, raise);
}

static TINYRT_NOINLINE void one_column(const tinyrt_block_s8_params *p, tinyrt_run run,
                                       const tinyrt_single *column) {
    const int32_t y_zp = (int8_t)p->y_zp;
    const int32_t zp = 2 * y_zp + 1;
    const int32_t raise = (p->y_zp - y_zp) >> 8;
    const int32_t eight_x = 8 * tinyrt_sum_single(column, p->taps);
    int8_t *y = run.y;
    for (; run.blocks != 0; --run.blocks) {
        int32_t acc[4] = {0};
        run.w = tinyrt_dot_one_s4(run.w, column, p->taps, acc);
        separate(run.init, eight_x, raise, acc);
        for (int32_t i = 0; i < 4; ++i) {
            const int32_t rounding = tinyrt_rounding_of(run.shift[i], zp);
            y[i] = tinyrt_requant_rounded(acc[i], run.mult[i], run.shift[i], rounding);
        }
        run.init += 4;
        run.mult += p->requant_step;
        run.shift += p->requant_step;
        y += 4;
    }
}

static TINYRT_NOINLINE void two_columns(const tinyrt_block_s8_params *p, tinyrt_run run,
                                        const tinyrt_taps_word *columns) {
    const int32_t y_zp = (int8_t)p->y_zp;
    const int32_t zp = 2 * y_zp + 1;
    const int32_t raise = (p->y_zp - y_zp) >> 8;
    int8_t *y = run.y;
    int32_t eight_x[2];
    tinyrt_sum_columns(columns, p->taps, eight_x);
    eight_x[0] *= 8;
    eight_x[1] *= 8;
    for (; run.blocks != 0; --run.blocks) {
        int32_t acc[8] = {0};
        run.w = tinyrt_dot_two_s4(run.w, columns, p->taps, acc);
        separate(run.init, eight_x[0], raise, acc);
        separate(run.init, eight_x[1], raise, acc + 4);
        for (int32_t i = 0; i < 4; ++i) {
            const int32_t mult = run.mult[i];
            const int32_t shift = run.shift[i];
            const int32_t rounding = tinyrt_rounding_of(shift, zp);
            y[i] = tinyrt_requant_rounded(acc[i], mult, shift, rounding);
            y[run.y_step + i] = tinyrt_requant_rounded(acc[4 + i], mult, shift, rounding);
        }
        run.init += 4;
        run.mult += p->requant_step;
        run.shift += p->requant_step;
        y += 4;
    }
}

void tinyrt_block_s4(const tinyrt_block_s8_params *p, const tinyrt_single *column, int8_t *y) {
    tinyrt_all_blocks(p, p->taps >> 1, one_column, column, y);
}

void tinyrt_two_blocks_s4(const tinyrt_block_s8_params *p, const tinyrt_taps_word *columns,
                          int8_t *y) {
    tinyrt_all_two_blocks(p, p->taps >> 1, two_columns, columns, y);
}
