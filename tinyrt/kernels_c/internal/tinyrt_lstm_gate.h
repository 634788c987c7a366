/** What sums of an LSTM over packed weights add to their gates. */
#ifndef TINYRT_LSTM_GATE_H
#define TINYRT_LSTM_GATE_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_lstm_block.h"
#include "tinyrt_simd.h"

/** Where the weights and first sums of the next units lie. */
typedef struct {
    const int32_t *w;
    const int32_t *r;
    const int32_t *start;
    const int32_t *restart;
} tinyrt_lstm_packed;

/** The second rounding of what the first one made. */
static inline int32_t tinyrt_lstm_rounded(const tinyrt_lstm_scale *scale, int32_t high) {
    const uint32_t sum = (uint32_t)(scale->rounding + (high >> 31)) + ((uint32_t)high << 1);
    return tinyrt_saturate_s16((int32_t)sum >> scale->next);
}

/** Of a sum that is to go left by scale->move. */
static inline int32_t tinyrt_lstm_gate(const tinyrt_lstm_scale *scale, int32_t sum) {
    const int32_t moved = tinyrt_shift_left(sum, scale->move);
    return tinyrt_lstm_rounded(scale, tinyrt_high_mul(moved, scale->mult));
}

#endif
