#include "tinyrt_lstm_block.h"

#include "tinyrt_row16.h"
#include "tinyrt_simd.h"

/** Where the weights and first sums of the next unit lie. */
typedef struct {
    const int32_t *w;
    const int32_t *r;
    const int32_t *start;
} wide_walk;

/** What a sum adds to its gate. */
static inline int32_t scaled(int32_t sum, int32_t mult) {
    return tinyrt_saturate_s16(tinyrt_high_mul(sum, mult));
}

/** The next unit's gates. */
static TINYRT_NOINLINE void tinyrt_lstm_next_gates(const tinyrt_lstm_block_s16_params *p,
                                                   wide_walk *next, const tinyrt_row16 *x,
                                                   const tinyrt_row16 *h, int32_t *gate) {
    const int32_t *const start = next->start;
    int32_t sum[4];
    next->start += 4;
    next->w = tinyrt_dot_row16(next->w, x, sum);
    gate[0] = scaled(sum[0] + start[0], p->from_x.input);
    gate[1] = scaled(sum[1] + start[1], p->from_x.forget);
    gate[2] = scaled(sum[2] + start[2], p->from_x.cell);
    gate[3] = scaled(sum[3] + start[3], p->from_x.output);
    next->r = tinyrt_dot_row16(next->r, h, sum);
    gate[0] = tinyrt_saturate_s16(gate[0] + scaled(sum[0], p->from_h.input));
    gate[1] = tinyrt_saturate_s16(gate[1] + scaled(sum[1], p->from_h.forget));
    gate[2] = tinyrt_saturate_s16(gate[2] + scaled(sum[2], p->from_h.cell));
    gate[3] = tinyrt_saturate_s16(gate[3] + scaled(sum[3], p->from_h.output));
}

#define TINYRT_KERNEL tinyrt_lstm_block_s16
#define TINYRT_PARAMS tinyrt_lstm_block_s16_params
#define TINYRT_X int16_t
#define TINYRT_LIMIT tinyrt_saturate_s16
#define TINYRT_ROW tinyrt_row16
#define TINYRT_ROW_OF tinyrt_row16_of
#define TINYRT_WALK wide_walk
#define TINYRT_UNITS 1
#define TINYRT_STARTS const int32_t *start
#define TINYRT_STARTS_AT start
#include "tinyrt_lstm_block_loop.h"
