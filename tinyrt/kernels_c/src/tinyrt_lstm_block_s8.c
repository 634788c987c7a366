#include "tinyrt_lstm_block.h"

#include "tinyrt_lstm_gate.h"
#include "tinyrt_row.h"

/** Of an odd gate's sum, which lies above its neighbour's. */
static inline int32_t odd_gate(const tinyrt_lstm_scale *scale, int32_t odd, int32_t even) {
    const int32_t sum = (int32_t)((uint32_t)odd - (uint32_t)even) >> scale->move;
    return tinyrt_lstm_rounded(scale, tinyrt_high_mul(sum, scale->mult));
}

/** What a unit's four sums of products with x make of its gates. */
static inline void gates_of_x(const tinyrt_lstm_gate_scales *scales, const int32_t *sum,
                              int32_t *gate) {
    gate[0] = tinyrt_lstm_gate(&scales->input, sum[0]);
    gate[1] = odd_gate(&scales->forget, sum[1], sum[0]);
    gate[2] = tinyrt_lstm_gate(&scales->cell, sum[2]);
    gate[3] = odd_gate(&scales->output, sum[3], sum[2]);
}

/** The gates with those of the hidden state. */
static inline void gates_of_h(const tinyrt_lstm_gate_scales *scales, const int32_t *sum,
                              int32_t *gate) {
    gate[0] = tinyrt_saturate_s16(gate[0] + tinyrt_lstm_gate(&scales->input, sum[0]));
    gate[1] = tinyrt_saturate_s16(gate[1] + odd_gate(&scales->forget, sum[1], sum[0]));
    gate[2] = tinyrt_saturate_s16(gate[2] + tinyrt_lstm_gate(&scales->cell, sum[2]));
    gate[3] = tinyrt_saturate_s16(gate[3] + odd_gate(&scales->output, sum[3], sum[2]));
}

/** The next units' gates. */
static TINYRT_NOINLINE void tinyrt_lstm_next_gates(const tinyrt_lstm_block_s8_params *p,
                                                   tinyrt_lstm_packed *next, const tinyrt_row *x,
                                                   const tinyrt_row *h, int32_t *gate) {
    int32_t sum[TINYRT_ROW_CHANNELS];
    for (int32_t i = 0; i < TINYRT_ROW_CHANNELS; ++i) {
        sum[i] = next->start[i];
    }
    next->start += TINYRT_ROW_CHANNELS;
    next->w = tinyrt_dot_row(next->w, x, sum);
    for (int32_t i = 0; i < TINYRT_ROW_CHANNELS; i += 4) {
        gates_of_x(&p->from_x, sum + i, gate + i);
    }
    for (int32_t i = 0; i < TINYRT_ROW_CHANNELS; ++i) {
        sum[i] = next->restart[i];
    }
    next->restart += TINYRT_ROW_CHANNELS;
    next->r = tinyrt_dot_row(next->r, h, sum);
    for (int32_t i = 0; i < TINYRT_ROW_CHANNELS; i += 4) {
        gates_of_h(&p->from_h, sum + i, gate + i);
    }
}

#define TINYRT_KERNEL tinyrt_lstm_block_s8
#define TINYRT_PARAMS tinyrt_lstm_block_s8_params
#define TINYRT_X int8_t
#define TINYRT_LIMIT tinyrt_saturate
#define TINYRT_ROW tinyrt_row
#define TINYRT_ROW_OF tinyrt_row_of
#define TINYRT_WALK tinyrt_lstm_packed
#define TINYRT_UNITS (TINYRT_ROW_CHANNELS / 4)
#define TINYRT_STARTS const int32_t *start, const int32_t *restart
#define TINYRT_STARTS_AT start, restart
#include "tinyrt_lstm_block_loop.h"
