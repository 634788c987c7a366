/** What follows the gates' sums: one unit's new cell and hidden state. */
#ifndef TINYRT_LSTM_UNIT_H
#define TINYRT_LSTM_UNIT_H

#include "tinyrt_fixedpoint.h"
#include "tinyrt_lstm.h"

static inline int16_t tinyrt_lstm_saturate(int32_t value) {
    return (int16_t)tinyrt_clamp(value, INT16_MIN, INT16_MAX);
}

/** Changes the cell state; returns what is to be limited and become the hidden state. */
int32_t tinyrt_lstm_unit(const tinyrt_lstm_params *p, const int16_t gate[4], int16_t before,
                         int16_t *after);

#endif
