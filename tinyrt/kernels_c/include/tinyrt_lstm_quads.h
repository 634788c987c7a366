/** An LSTM, four units at a time, for cores with MVE. */
#ifndef TINYRT_LSTM_QUADS_H
#define TINYRT_LSTM_QUADS_H

#include "tinyrt_lstm.h"
#include "tinyrt_quads.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Of a gate's products with x, and with the hidden state. */
typedef struct {
    tinyrt_quads_scale x;
    tinyrt_quads_scale h;
} tinyrt_lstm_quads_gate;

/** As tinyrt_lstm_params. */
typedef struct {
    tinyrt_lstm_shape shape;
    tinyrt_lstm_quads_gate input;
    tinyrt_lstm_quads_gate forget;
    tinyrt_lstm_quads_gate cell;
    tinyrt_lstm_quads_gate output;
    tinyrt_quads_scale kept;
    tinyrt_quads_scale update;
    tinyrt_quads_scale shown;
    tinyrt_lstm_state state;
} tinyrt_lstm_quads_s8_params;

/** Mantissas of a gate's products with x, and with the hidden state: the upper half of a sum's
 *  product, rounded, is what it adds to the gate. */
typedef struct {
    int32_t x;
    int32_t h;
} tinyrt_lstm_quads_mults;

/** As tinyrt_lstm_params. */
typedef struct {
    tinyrt_lstm_shape shape;
    tinyrt_lstm_quads_mults input;
    tinyrt_lstm_quads_mults forget;
    tinyrt_lstm_quads_mults cell;
    tinyrt_lstm_quads_mults output;
    tinyrt_quads_scale kept;
    tinyrt_quads_scale update;
    tinyrt_quads_scale shown;
    tinyrt_lstm_state state;
} tinyrt_lstm_quads_s16_params;

/** As tinyrt_lstm_s8. For every four units and each gate, w has two quads of filters as
 *  tinyrt_product_s8_params describes them, for x and for the hidden state, and start four first
 *  sums of each. */
void tinyrt_lstm_quads_s8(const tinyrt_lstm_quads_s8_params *p, const int8_t *x, const int8_t *w,
                          const int32_t *start, const int8_t *h_before, const int16_t *c_before,
                          int8_t *h_after, int16_t *c_after, int8_t *y);

/** The same over weights of four bits: those of two filters share a byte, 16 * w1 + w0. */
void tinyrt_lstm_quads_s4(const tinyrt_lstm_quads_s8_params *p, const int8_t *x, const int8_t *w,
                          const int32_t *start, const int8_t *h_before, const int16_t *c_before,
                          int8_t *h_after, int16_t *c_after, int8_t *y);

/** As tinyrt_lstm_s16. For every four units and each gate, w has two quads of filters as
 *  tinyrt_mve_next_dot16 reads them, for x and for the hidden state, and start four first sums.
 *  Requires: sums are below 2^31. */
void tinyrt_lstm_quads_s16(const tinyrt_lstm_quads_s16_params *p, const int16_t *x, const int8_t *w,
                           const int32_t *start, const int16_t *h_before, const int16_t *c_before,
                           int16_t *h_after, int16_t *c_after, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
