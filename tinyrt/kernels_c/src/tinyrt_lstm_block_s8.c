#include "tinyrt_lstm_block.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_lstm_strides.h"
#include "tinyrt_row.h"
#include "tinyrt_sigmoid_s16.h"
#include "tinyrt_simd.h"

/** Units whose gates are computed together. */
#define UNITS (TINYRT_ROW_CHANNELS / 4)

/** The second rounding of what the first one made. */
static inline int32_t rounded(const tinyrt_lstm_scale *scale, int32_t high) {
    const uint32_t sum = (uint32_t)(scale->rounding + (high >> 31)) + ((uint32_t)high << 1);
    return tinyrt_saturate_s16((int32_t)sum >> scale->next);
}

/** Of a product of two int16, limited to an int16's range. */
static inline int32_t scaled(const tinyrt_lstm_unit_scale *scale, int32_t product) {
    const int32_t high = tinyrt_doubling_high_mul(product, scale->mult);
    return tinyrt_saturate_s16((high + (high >> 31) + scale->half) >> scale->right);
}

/** Of an even gate's sum, likewise. */
static inline int32_t even_gate(const tinyrt_lstm_scale *scale, int32_t sum) {
    return rounded(scale, tinyrt_high_mul(tinyrt_shift_left(sum, scale->move), scale->mult));
}

/** Of an odd one's, which lies above its neighbour's. */
static inline int32_t odd_gate(const tinyrt_lstm_scale *scale, int32_t odd, int32_t even) {
    const int32_t sum = (int32_t)((uint32_t)odd - (uint32_t)even) >> scale->move;
    return rounded(scale, tinyrt_high_mul(sum, scale->mult));
}

/** What a unit's four sums of products with x make of its gates. */
static inline void gates_of_x(const tinyrt_lstm_gate_scales *scales, const int32_t *sum,
                              int32_t *gate) {
    gate[0] = even_gate(&scales->input, sum[0]);
    gate[1] = odd_gate(&scales->forget, sum[1], sum[0]);
    gate[2] = even_gate(&scales->cell, sum[2]);
    gate[3] = odd_gate(&scales->output, sum[3], sum[2]);
}

/** The gates with those of the hidden state. */
static inline void gates_of_h(const tinyrt_lstm_gate_scales *scales, const int32_t *sum,
                              int32_t *gate) {
    gate[0] = tinyrt_saturate_s16(gate[0] + even_gate(&scales->input, sum[0]));
    gate[1] = tinyrt_saturate_s16(gate[1] + odd_gate(&scales->forget, sum[1], sum[0]));
    gate[2] = tinyrt_saturate_s16(gate[2] + even_gate(&scales->cell, sum[2]));
    gate[3] = tinyrt_saturate_s16(gate[3] + odd_gate(&scales->output, sum[3], sum[2]));
}

/** Where the weights and first sums of the next units lie. */
typedef struct {
    const int32_t *w;
    const int32_t *r;
    const int32_t *start;
    const int32_t *restart;
} walk;

/** The next units' gates. */
static TINYRT_NOINLINE void next_gates(const tinyrt_lstm_block_s8_params *p, walk *next,
                                       const tinyrt_row *x, const tinyrt_row *h, int32_t *gate) {
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

/** A unit's new cell state, and its hidden state. */
static TINYRT_NOINLINE int8_t unit_of(const tinyrt_lstm_block_s8_params *p, const int32_t *gate,
                                      int32_t before, int16_t *after) {
    const uint16_t *const table = p->table;
    const int32_t kept = scaled(&p->forget, tinyrt_logistic_of(table, 3 * gate[1]) * before);
    const int32_t in = tinyrt_logistic_of(table, 3 * gate[0]);
    const int32_t update = scaled(&p->update, in * tinyrt_tanh_of(table, 3 * gate[2]));
    int32_t cell = tinyrt_saturate_s16(kept + update);
    if (p->cell_clip > 0) {
        cell = tinyrt_clamp(cell, -p->cell_clip, p->cell_clip);
    }
    *after = (int16_t)cell;
    const int32_t rounding = (int32_t)((UINT32_C(1) << p->tanh_right) >> 1);
    const int32_t position = ((cell * p->tanh_mult) + rounding) >> p->tanh_right;
    const int32_t out = tinyrt_logistic_of(table, 3 * gate[3]);
    return (int8_t)tinyrt_saturate(p->h_zp +
                                   scaled(&p->output, out * tinyrt_tanh_of(table, position)));
}

void tinyrt_lstm_block_s8(const tinyrt_lstm_block_s8_params *p, const int8_t *x, const int32_t *w,
                          const int32_t *r, const int32_t *start, const int32_t *restart,
                          const int8_t *h_before, const int16_t *c_before, int8_t *h_after,
                          int16_t *c_after, int8_t *y) {
    const int32_t units = p->units;
    const tinyrt_lstm_strides in =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->c_in);
    const tinyrt_lstm_strides out =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, units);
    for (int32_t n = 0; n < p->samples; ++n) {
        const int8_t *hidden = h_before + (n * units);
        const int16_t *cell = c_before + (n * units);
        int16_t *const after = c_after + (n * units);
        for (int32_t t = 0; t < p->steps; ++t) {
            const tinyrt_row of_x = tinyrt_row_of(x + (n * in.sample) + (t * in.step), p->c_in);
            const tinyrt_row of_h = tinyrt_row_of(hidden, units);
            walk next = {w, r, start, restart};
            int8_t *const to = y + (n * out.sample) + (t * out.step);
            for (int32_t u = 0; u < units;) {
                int32_t gate[TINYRT_ROW_CHANNELS];
                next_gates(p, &next, &of_x, &of_h, gate);
                for (int32_t i = 0; (i < UNITS) && (u < units); ++i, ++u) {
                    to[u] = unit_of(p, gate + (4 * i), cell[u], after + u);
                }
            }
            hidden = to;
            cell = after;
        }
        for (int32_t u = 0; u < units; ++u) {
            h_after[(n * units) + u] = hidden[u];
        }
    }
}
