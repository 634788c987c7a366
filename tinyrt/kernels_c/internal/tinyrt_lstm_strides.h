/** Where the samples and steps of a sequence lie. */
#ifndef TINYRT_LSTM_STRIDES_H
#define TINYRT_LSTM_STRIDES_H

#include "tinyrt_types.h"

/** Elements between a sample's first ones, and between those of its steps. */
typedef struct {
    int32_t sample;
    int32_t step;
} tinyrt_lstm_strides;

static inline tinyrt_lstm_strides tinyrt_lstm_strides_of(int32_t time_major, int32_t samples,
                                                         int32_t steps, int32_t size) {
    const tinyrt_lstm_strides by_time = {size, samples * size};
    const tinyrt_lstm_strides by_sample = {steps * size, size};
    return (time_major != 0) ? by_time : by_sample;
}

#endif
