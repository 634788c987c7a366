/** An LSTM over packed weights: the four gates of a unit are a block of four channels. */
#ifndef TINYRT_LSTM_BLOCK_H
#define TINYRT_LSTM_BLOCK_H

#include "tinyrt_lstm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** value * mult * 2^(shift - 31), rounded twice. The first rounding is of 2 * value, times 2^shift
 *  where that goes left: move is how far left an even gate's sum goes for it, and how far right an
 *  odd gate's, which is held times 256. What the first rounding gives goes right by next - 1;
 *  rounding is 2^(next - 1).
 *  Requires: |value| * 2^left < 2^30; twice the product, with rounding, is below 2^31. */
typedef struct {
    int32_t mult;
    int32_t move;
    int32_t rounding;
    int32_t next;
} tinyrt_lstm_scale;

/** The same of a unit's products: what the first rounding gives goes right by right, which is not
 *  0, nor above 30; half is 2^(right - 1). */
typedef struct {
    int32_t mult;
    int32_t half;
    int32_t right;
} tinyrt_lstm_unit_scale;

typedef struct {
    tinyrt_lstm_scale input;
    tinyrt_lstm_scale forget;
    tinyrt_lstm_scale cell;
    tinyrt_lstm_scale output;
} tinyrt_lstm_gate_scales;

/** As tinyrt_lstm_params. from_x, from_h: of the gates' products. */
typedef struct {
    tinyrt_lstm_shape shape;
    tinyrt_lstm_gate_scales from_x;
    tinyrt_lstm_gate_scales from_h;
    tinyrt_lstm_unit_scale forget;
    tinyrt_lstm_unit_scale update;
    tinyrt_lstm_unit_scale output;
    tinyrt_lstm_state state;
} tinyrt_lstm_block_s8_params;

/** Mantissas of the gates: round(sum * mult / 2^32) is what a sum adds to its gate. */
typedef struct {
    int32_t input;
    int32_t forget;
    int32_t cell;
    int32_t output;
} tinyrt_lstm_gate_mults;

/** As tinyrt_lstm_params. from_x, from_h: of the gates' products. */
typedef struct {
    tinyrt_lstm_shape shape;
    tinyrt_lstm_gate_mults from_x;
    tinyrt_lstm_gate_mults from_h;
    tinyrt_lstm_unit_scale forget;
    tinyrt_lstm_unit_scale update;
    tinyrt_lstm_unit_scale output;
    tinyrt_lstm_state state;
} tinyrt_lstm_block_s16_params;

/** As tinyrt_lstm_s8. w and r are packed as those of tinyrt_dense_row_s8, with the gates of a unit
 *  as neighbouring channels; start and restart are first sums as in tinyrt_block_s8_params. There
 *  are as many units as are computed together, or a multiple: those that are added have weights of
 *  zero.
 *  Requires: sums of the forget and the output gate are below 2^23, all others below 2^29. */
void tinyrt_lstm_block_s8(const tinyrt_lstm_block_s8_params *p, const int8_t *x, const int32_t *w,
                          const int32_t *r, const int32_t *start, const int32_t *restart,
                          const int8_t *h_before, const int16_t *c_before, int8_t *h_after,
                          int16_t *c_after, int8_t *y);

/** As tinyrt_lstm_block_s8. w and r hold the four gates of a unit as the channels of a block of
 *  tinyrt_block_s4, start and restart their first values as its init. Every gate's sum is doubled,
 *  and goes left by move beyond that.
 *  Requires: as tinyrt_block_s4; sums times 2^move are below 2^29. */
void tinyrt_lstm_block_s4(const tinyrt_lstm_block_s8_params *p, const int8_t *x, const int32_t *w,
                          const int32_t *r, const int32_t *start, const int32_t *restart,
                          const int8_t *h_before, const int16_t *c_before, int8_t *h_after,
                          int16_t *c_after, int8_t *y);

/** As tinyrt_lstm_s16. w and r hold the four gates of a unit as the channels of tinyrt_dot_row16;
 *  start has their first sums.
 *  Requires: sums are below 2^31, on cores without dual multiplies below 2^30. */
void tinyrt_lstm_block_s16(const tinyrt_lstm_block_s16_params *p, const int16_t *x,
                           const int32_t *w, const int32_t *r, const int32_t *start,
                           const int16_t *h_before, const int16_t *c_before, int16_t *h_after,
                           int16_t *c_after, int16_t *y);

#ifdef __cplusplus
}
#endif

#endif
