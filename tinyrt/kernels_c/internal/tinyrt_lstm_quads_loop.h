/** An LSTM of four units at a time as the function TINYRT_KERNEL, where this is included:
 *  TINYRT_PARAMS is the type of its parameters, TINYRT_GATE that of a gate's scales, TINYRT_X that
 *  of inputs and hidden states. TINYRT_DOT multiplies as tinyrt_mve_next_dot.
 *  TINYRT_OF_X(gate, sums, start) and TINYRT_OF_H(gate, sums, start) are what both sums add to the
 *  gate, which has TINYRT_STARTS first sums. TINYRT_LOW and TINYRT_HIGH are the ends of TINYRT_X,
 *  and TINYRT_STORE(y, value, lanes) writes to it. */
#ifndef TINYRT_LSTM_QUADS_LOOP_H
#define TINYRT_LSTM_QUADS_LOOP_H

#include "tinyrt_lstm_strides.h"
#include "tinyrt_mve_patch.h"
#include "tinyrt_mve_rescale.h"
#include "tinyrt_mve_sigmoid.h"

/** The sum of two, both and itself limited to an int16's range. */
static inline int32x4_t tinyrt_lstm_sum(int32x4_t a, int32x4_t b) {
    const int16x8_t narrow_a = vqmovnbq_s32(vreinterpretq_s16_s32(a), a);
    const int16x8_t narrow_b = vqmovnbq_s32(vreinterpretq_s16_s32(b), b);
    return vmovlbq_s16(vqaddq_s16(narrow_a, narrow_b));
}

/** A vector for TINYRT_DOT: its place behind the first elements. */
typedef struct {
    const TINYRT_X *x;
    uint32_t patch;
} tinyrt_lstm_operand;

/** Where the weights and first sums of the next gates lie. */
typedef struct {
    const int8_t *w;
    const int32_t *start;
} tinyrt_lstm_walk;

/** The gates of four units, each in four lanes. */
static TINYRT_NOINLINE void tinyrt_lstm_next_gates(const TINYRT_GATE *const *scales,
                                                   const tinyrt_lstm_operand *x,
                                                   const tinyrt_lstm_operand *h,
                                                   tinyrt_lstm_walk *next, int32_t *gates) {
    const int8_t *w = next->w;
    const int32_t *start = next->start;
    const TINYRT_GATE *const *const end = scales + 4;
    while (scales != end) {
        const TINYRT_GATE *const gate = *scales++;
        const int32x4_t x_sums = TINYRT_DOT(x->patch, x->x, &w);
        const int32x4_t of_x = TINYRT_OF_X(gate, x_sums, start);
        const int32x4_t h_sums = TINYRT_DOT(h->patch, h->x, &w);
        vstrwq_s32(gates, tinyrt_lstm_sum(of_x, TINYRT_OF_H(gate, h_sums, start)));
        start += TINYRT_STARTS;
        gates += 4;
    }
    next->w = w;
    next->start = start;
}

/** The logistic function of four units' gates. */
static inline int32x4_t tinyrt_lstm_gate_of(const int16_t *table, const int32_t *gates) {
    return tinyrt_mve_logistic(table, vmulq_n_s32(vldrwq_s32(gates), 3));
}

/** Four units' new cell states, and their hidden states. */
static inline int32x4_t tinyrt_lstm_hidden(const TINYRT_PARAMS *p, const int32_t *gates,
                                           int32x4_t before, int16_t *after, mve_pred16_t lanes) {
    const int16_t *const table = p->state.table;
    const int32x4_t forget = tinyrt_lstm_gate_of(table, gates + 4);
    const int32x4_t kept = tinyrt_mve_rescale(&p->kept, vmulq_s32(forget, before));
    const int32x4_t in = tinyrt_lstm_gate_of(table, gates);
    const int32x4_t new = tinyrt_mve_tanh(table, vmulq_n_s32(vldrwq_s32(gates + 8), 3));
    int32x4_t cell = tinyrt_lstm_sum(kept, tinyrt_mve_rescale(&p->update, vmulq_s32(in, new)));
    if (p->state.cell_clip > 0) {
        cell = tinyrt_mve_limit(cell, -p->state.cell_clip, p->state.cell_clip);
    }
    vstrhq_p_s32(after, cell, lanes);
    const int32x4_t position =
        vrshlq_n_s32(vmulq_n_s32(cell, p->state.tanh_mult), -p->state.tanh_right);
    const int32x4_t shown = tinyrt_mve_tanh(table, position);
    const int32x4_t out = tinyrt_lstm_gate_of(table, gates + 12);
    return tinyrt_mve_rescale(&p->shown, vmulq_s32(out, shown));
}

/** One step of a sample. */
static TINYRT_NOINLINE void tinyrt_lstm_step(const TINYRT_PARAMS *p, const tinyrt_lstm_operand *x,
                                             const tinyrt_lstm_operand *h, tinyrt_lstm_walk next,
                                             const int16_t *before, int16_t *after, TINYRT_X *y) {
    const TINYRT_GATE *const scales[4] = {&p->input, &p->forget, &p->cell, &p->output};
    for (int32_t left = p->shape.units; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        int32_t gates[16];
        tinyrt_lstm_next_gates(scales, x, h, &next, gates);
        int32x4_t value = tinyrt_lstm_hidden(p, gates, vldrhq_z_s32(before, lanes), after, lanes);
        value = tinyrt_mve_limit(vaddq_n_s32(value, p->state.h_zp), TINYRT_LOW, TINYRT_HIGH);
        TINYRT_STORE(y, value, lanes);
        before += 4;
        after += 4;
        y += 4;
    }
}

void TINYRT_KERNEL(const TINYRT_PARAMS *p, const TINYRT_X *x, const int8_t *w, const int32_t *start,
                   const TINYRT_X *h_before, const int16_t *c_before, TINYRT_X *h_after,
                   int16_t *c_after, TINYRT_X *y) {
    const int32_t units = p->shape.units;
    const tinyrt_lstm_strides in = tinyrt_lstm_strides_of(&p->shape, p->shape.c_in);
    const tinyrt_lstm_strides out = tinyrt_lstm_strides_of(&p->shape, units);
    const int32_t size = (int32_t)sizeof(TINYRT_X);
    const int32_t x_first = tinyrt_mve_first_bytes(p->shape.c_in * size) / size;
    const int32_t h_first = tinyrt_mve_first_bytes(units * size) / size;
    const tinyrt_lstm_walk first = {w, start};
    tinyrt_lstm_operand of_x = {NULL, tinyrt_mve_patch(p->shape.c_in * size)};
    tinyrt_lstm_operand of_h = {NULL, tinyrt_mve_patch(units * size)};
    for (int32_t n = 0; n < p->shape.samples; ++n) {
        const TINYRT_X *hidden = h_before + (n * units);
        const int16_t *cell = c_before + (n * units);
        int16_t *const after = c_after + (n * units);
        for (int32_t t = 0; t < p->shape.steps; ++t) {
            TINYRT_X *const to = y + (n * out.sample) + (t * out.step);
            of_x.x = x + (n * in.sample) + (t * in.step) + x_first;
            of_h.x = hidden + h_first;
            tinyrt_lstm_step(p, &of_x, &of_h, first, cell, after, to);
            hidden = to;
            cell = after;
        }
        for (int32_t u = 0; u < units; ++u) {
            h_after[(n * units) + u] = hidden[u];
        }
    }
}

#endif
