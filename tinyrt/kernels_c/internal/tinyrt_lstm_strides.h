/** Where the samples and steps of a sequence lie. */
#ifndef TINYRT_LSTM_STRIDES_H
#define TINYRT_LSTM_STRIDES_H

#include "tinyrt_lstm.h"

/** Elements between a sample's first ones, and between those of its steps. */
typedef struct {
    int32_t sample;
    int32_t step;
} tinyrt_lstm_strides;

/** Of x or of y, which have size elements for a step. */
static inline tinyrt_lstm_strides tinyrt_lstm_strides_of(const tinyrt_lstm_shape *shape,
                                                         int32_t size) {
    const tinyrt_lstm_strides by_time = {size, shape->samples * size};
    const tinyrt_lstm_strides by_sample = {shape->steps * size, size};
    return (shape->time_major != 0) ? by_time : by_sample;
}

#endif
