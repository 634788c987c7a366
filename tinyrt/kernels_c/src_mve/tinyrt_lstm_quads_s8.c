#include "tinyrt_lstm_quads.h"

#include "tinyrt_lstm_strides.h"
#define TINYRT_WEIGHT_BITS 8
#include "tinyrt_mve_dot.h"
#include "tinyrt_mve_rescale.h"

/** The sum of two, both and itself limited to an int16's range. */
static inline int32x4_t saturated_sum(int32x4_t a, int32x4_t b) {
    const int16x8_t narrow_a = vqmovnbq_s32(vreinterpretq_s16_s32(a), a);
    const int16x8_t narrow_b = vqmovnbq_s32(vreinterpretq_s16_s32(b), b);
    return vmovlbq_s16(vqaddq_s16(narrow_a, narrow_b));
}

/** A vector on which tinyrt_mve_dot runs: its place behind the first bytes. */
typedef struct {
    const int8_t *x;
    uint32_t patch;
} operand;

/** Where the weights and first sums of the next gates lie. */
typedef struct {
    const int8_t *w;
    const int32_t *start;
} walk;

/** The gates of four units, each in four lanes. */
static TINYRT_NOINLINE void next_gates(const tinyrt_lstm_quads_gate *const *scales,
                                       const operand *x, const operand *h, walk *next,
                                       int32_t *gates) {
    const int8_t *w = next->w;
    const int32_t *start = next->start;
    const tinyrt_lstm_quads_gate *const *const end = scales + 4;
    while (scales != end) {
        const tinyrt_lstm_quads_gate *const gate = *scales++;
        const int32x4_t of_x = tinyrt_mve_next_dot(x->patch, x->x, &w);
        const int32x4_t from_x = tinyrt_mve_rescale(&gate->x, vaddq_s32(of_x, vldrwq_s32(start)));
        const int32x4_t of_h = tinyrt_mve_next_dot(h->patch, h->x, &w);
        const int32x4_t from_h =
            tinyrt_mve_rescale(&gate->h, vaddq_s32(of_h, vldrwq_s32(start + 4)));
        vstrwq_s32(gates, saturated_sum(from_x, from_h));
        start += 8;
        gates += 4;
    }
    next->w = w;
    next->start = start;
}

/** The table between its entries, at magnitudes in steps of 1 / 2^bits of one. What lies beyond its
 *  end is what lies right before it. */
static inline int32x4_t sigmoid(const uint16_t *table, int32x4_t magnitude, int bits) {
    const int32x4_t inside = vminq_s32(magnitude, vdupq_n_s32((255 << bits) - 1));
    const uint32x4_t index =
        vreinterpretq_u32_s32((bits == 9) ? vshrq_n_s32(inside, 9) : vshrq_n_s32(inside, 8));
    const int32x4_t first = vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(table, index));
    const int32x4_t second =
        vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_u32(table + 1, index));
    const int32x4_t rest = vandq_s32(inside, vdupq_n_s32((1 << bits) - 1));
    return vaddq_s32(vmulq_n_s32(first, 1 << bits), vmulq_s32(rest, vsubq_s32(second, first)));
}

/** As tinyrt_logistic_of, of gates: halves are rounded up, and the complement of a value down, as
 *  those of negative positions are. */
static inline int32x4_t logistic(const uint16_t *table, int32x4_t gate) {
    const int32x4_t sign = vshrq_n_s32(gate, 31);
    const int32x4_t value = sigmoid(table, vabsq_s32(vmulq_n_s32(gate, 3)), 9);
    return vmlaq_n_s32(vrshrq_n_s32(veorq_s32(value, sign), 10), sign, -(1 << 15));
}

/** As tinyrt_tanh_of, likewise. */
static inline int32x4_t hyperbolic_tangent(const uint16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t value = vsubq_n_s32(sigmoid(table, vabsq_s32(position), 8), 1 << 23);
    return vrshrq_n_s32(veorq_s32(value, sign), 8);
}

/** Four units' new cell states, and their hidden states. */
static inline int32x4_t hidden_of(const tinyrt_lstm_quads_s8_params *p, const int32_t *gates,
                                  int32x4_t before, int16_t *after, mve_pred16_t lanes) {
    const uint16_t *const table = p->table;
    const int32x4_t forget = logistic(table, vldrwq_s32(gates + 4));
    const int32x4_t kept = tinyrt_mve_rescale(&p->kept, vmulq_s32(forget, before));
    const int32x4_t in = logistic(table, vldrwq_s32(gates));
    const int32x4_t new = hyperbolic_tangent(table, vmulq_n_s32(vldrwq_s32(gates + 8), 3));
    int32x4_t cell = saturated_sum(kept, tinyrt_mve_rescale(&p->update, vmulq_s32(in, new)));
    if (p->cell_clip > 0) {
        cell = tinyrt_mve_limit(cell, -p->cell_clip, p->cell_clip);
    }
    vstrhq_p_s32(after, cell, lanes);
    const int32x4_t position = vrshlq_n_s32(vmulq_n_s32(cell, p->tanh_mult), -p->tanh_right);
    const int32x4_t shown = hyperbolic_tangent(table, position);
    const int32x4_t out = logistic(table, vldrwq_s32(gates + 12));
    return tinyrt_mve_rescale(&p->shown, vmulq_s32(out, shown));
}

/** One step of a sample. */
static TINYRT_NOINLINE void step_of(const tinyrt_lstm_quads_s8_params *p, const operand *x,
                                    const operand *h, walk next, const int16_t *before,
                                    int16_t *after, int8_t *y) {
    const tinyrt_lstm_quads_gate *const scales[4] = {&p->input, &p->forget, &p->cell, &p->output};
    for (int32_t left = p->units; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        int32_t gates[16];
        next_gates(scales, x, h, &next, gates);
        int32x4_t value = hidden_of(p, gates, vldrhq_z_s32(before, lanes), after, lanes);
        value = tinyrt_mve_limit(vaddq_n_s32(value, p->h_zp), INT8_MIN, INT8_MAX);
        vstrbq_p_s32(y, value, lanes);
        before += 4;
        after += 4;
        y += 4;
    }
}

void tinyrt_lstm_quads_s8(const tinyrt_lstm_quads_s8_params *p, const int8_t *x, const int8_t *w,
                          const int32_t *start, const int8_t *h_before, const int16_t *c_before,
                          int8_t *h_after, int16_t *c_after, int8_t *y) {
    const int32_t units = p->units;
    const tinyrt_lstm_strides in =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->c_in);
    const tinyrt_lstm_strides out =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, units);
    const int32_t x_first = tinyrt_mve_first_bytes(p->c_in);
    const int32_t h_first = tinyrt_mve_first_bytes(units);
    const walk first = {w, start};
    operand of_x = {NULL, tinyrt_mve_patch(p->c_in)};
    operand of_h = {NULL, tinyrt_mve_patch(units)};
    for (int32_t n = 0; n < p->samples; ++n) {
        const int8_t *hidden = h_before + (n * units);
        const int16_t *cell = c_before + (n * units);
        int16_t *const after = c_after + (n * units);
        for (int32_t t = 0; t < p->steps; ++t) {
            int8_t *const to = y + (n * out.sample) + (t * out.step);
            of_x.x = x + (n * in.sample) + (t * in.step) + x_first;
            of_h.x = hidden + h_first;
            step_of(p, &of_x, &of_h, first, cell, after, to);
            hidden = to;
            cell = after;
        }
        for (int32_t u = 0; u < units; ++u) {
            h_after[(n * units) + u] = hidden[u];
        }
    }
}
