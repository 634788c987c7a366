/** An LSTM on int8 of four units at a time as the function TINYRT_KERNEL over weights of
 *  TINYRT_WEIGHT_BITS, which are set where this is included. */
#ifndef TINYRT_LSTM_QUADS_BYTES_LOOP_H
#define TINYRT_LSTM_QUADS_BYTES_LOOP_H

#include "tinyrt_lstm_quads.h"

#include "tinyrt_mve_dot.h"
#include "tinyrt_mve_rescale.h"

static inline int32x4_t tinyrt_lstm_from_x(const tinyrt_lstm_quads_gate *gate, int32x4_t sums,
                                           const int32_t *start) {
    return tinyrt_mve_rescale(&gate->x, vaddq_s32(sums, vldrwq_s32(start)));
}

static inline int32x4_t tinyrt_lstm_from_h(const tinyrt_lstm_quads_gate *gate, int32x4_t sums,
                                           const int32_t *start) {
    return tinyrt_mve_rescale(&gate->h, vaddq_s32(sums, vldrwq_s32(start + 4)));
}

#define TINYRT_PARAMS tinyrt_lstm_quads_s8_params
#define TINYRT_GATE tinyrt_lstm_quads_gate
#define TINYRT_X int8_t
#define TINYRT_DOT tinyrt_mve_next_dot
#define TINYRT_OF_X tinyrt_lstm_from_x
#define TINYRT_OF_H tinyrt_lstm_from_h
#define TINYRT_STARTS 8
#define TINYRT_LOW INT8_MIN
#define TINYRT_HIGH INT8_MAX
#define TINYRT_STORE(y, value, lanes) vstrbq_p_s32(y, value, lanes)
#include "tinyrt_lstm_quads_loop.h"

#endif
