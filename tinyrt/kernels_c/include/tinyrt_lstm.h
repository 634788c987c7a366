/** An LSTM over a sequence. Gates come in the order input, forget, cell, output. */
#ifndef TINYRT_LSTM_H
#define TINYRT_LSTM_H

#include "tinyrt_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** x is (samples, steps, c_in), or (steps, samples, c_in) if time_major; y likewise with units. */
typedef struct {
    int32_t samples;
    int32_t steps;
    int32_t c_in;
    int32_t units;
    int32_t time_major;
} tinyrt_lstm_shape;

/** h_zp: of the hidden state. cell_clip: limit of the cell state, 0 for none. tanh_mult,
 * tanh_right, table: as in tinyrt_sigmoid_s16_params, of the cell state. */
typedef struct {
    int32_t h_zp;
    int32_t cell_clip;
    int32_t tanh_mult;
    int32_t tanh_right;
    const int16_t *table;
} tinyrt_lstm_state;

/** mult, shift: of the four gates' products with x, then with the hidden state, to int16 in steps
 *  of 2^-12; with int16 states, mantissas of 15 bits and right shifts. */
typedef struct {
    tinyrt_lstm_shape shape;
    const int32_t *mult;
    const int8_t *shift;
    int32_t forget_mult;
    int32_t forget_shift;
    int32_t update_mult;
    int32_t update_shift;
    int32_t output_mult;
    int32_t output_shift;
    tinyrt_lstm_state state;
} tinyrt_lstm_params;

/** The cell state is limited to cell_clip, if that is not 0. */
typedef struct {
    tinyrt_lstm_shape shape;
    float cell_clip;
} tinyrt_lstm_f32_params;

/** w (4, units, c_in) and r (4, units, units) are the gates' weights; start (4, units) holds biases
 *  and the input zero point's share, restart that of the hidden state's. h and c (samples, units)
 *  are read from _before and written to _after, which may be the same. */
void tinyrt_lstm_s8(const tinyrt_lstm_params *p, const int8_t *x, const int8_t *w, const int8_t *r,
                    const int32_t *start, const int32_t *restart, const int8_t *h_before,
                    const int16_t *c_before, int8_t *h_after, int16_t *c_after, int8_t *y);

/** The same on int16, whose zero points are 0. */
void tinyrt_lstm_s16(const tinyrt_lstm_params *p, const int16_t *x, const int8_t *w,
                     const int8_t *r, const int64_t *start, const int16_t *h_before,
                     const int16_t *c_before, int16_t *h_after, int16_t *c_after, int16_t *y);

/** The same in float. */
void tinyrt_lstm_f32(const tinyrt_lstm_f32_params *p, const float *x, const float *w,
                     const float *r, const float *bias, const float *h_before,
                     const float *c_before, float *h_after, float *c_after, float *y);

#ifdef __cplusplus
}
#endif

#endif
