#include "tinyrt_lstm_quads.h"

#include "tinyrt_lstm_strides.h"
#define TINYRT_WEIGHT_BITS 8
#include "tinyrt_mve_dot.h"

static inline int32x4_t rescaled(const tinyrt_lstm_quads_scale *scale, int32x4_t value) {
    value = vqrdmulhq_n_s32(vshlq_r_s32(value, scale->left), scale->mult);
    value = vmlaq_n_s32(value, vshrq_n_s32(value, 31), scale->below);
    return vrshlq_n_s32(value, scale->right);
}

/** The sum of two, both and itself limited to an int16's range. */
static inline int32x4_t saturated_sum(int32x4_t a, int32x4_t b) {
    const int16x8_t zero = vdupq_n_s16(0);
    return vmovlbq_s16(vqaddq_s16(vqmovnbq_s32(zero, a), vqmovnbq_s32(zero, b)));
}

/** A vector on which tinyrt_mve_dot runs. */
typedef struct {
    const int8_t *x; /* behind its first bytes */
    uint32_t patch;
    int32_t step; /* bytes of four filters */
} operand;

static inline operand operand_of(int32_t length) {
    const operand one = {NULL, tinyrt_mve_patch(length),
                         4 * TINYRT_VECTOR * ((length + TINYRT_VECTOR - 1) / TINYRT_VECTOR)};
    return one;
}

/** Where the weights and first sums of the next gate lie. */
typedef struct {
    const int8_t *w;
    const int8_t *r;
    const int32_t *start;
    const int32_t *restart;
} walk;

static inline int32x4_t next_gate(const tinyrt_lstm_quads_gate *gate, const operand *x,
                                  const operand *h, walk *next) {
    int32x4_t of_x = tinyrt_mve_dot(x->patch, x->x, next->w);
    int32x4_t of_h = tinyrt_mve_dot(h->patch, h->x, next->r);
    of_x = rescaled(&gate->x, vaddq_s32(of_x, vldrwq_s32(next->start)));
    of_h = rescaled(&gate->h, vaddq_s32(of_h, vldrwq_s32(next->restart)));
    next->w += x->step;
    next->r += h->step;
    next->start += 4;
    next->restart += 4;
    return saturated_sum(of_x, of_h);
}

/** The differences of entries of the table to the next ones; first holds the entries. */
static inline int32x4_t between(const uint16_t *table, uint32x4_t index, int32x4_t *first,
                                mve_pred16_t inside) {
    const int32x4_t a =
        vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_z_u32(table, index, inside));
    const int32x4_t b =
        vreinterpretq_s32_u32(vldrhq_gather_shifted_offset_z_u32(table + 1, index, inside));
    *first = a;
    return vsubq_s32(b, a);
}

/** As tinyrt_logistic_of. Halves are rounded up, and the complement of a value down, as those of
 *  negative positions are. */
static inline int32x4_t logistic(const uint16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t magnitude = vabsq_s32(position);
    const int32x4_t index = vshrq_n_s32(magnitude, 9);
    const mve_pred16_t inside = vcmpltq_n_s32(index, 255);
    int32x4_t first;
    const int32x4_t step = between(table, vreinterpretq_u32_s32(index), &first, inside);
    const int32x4_t rest = vandq_s32(magnitude, vdupq_n_s32((1 << 9) - 1));
    int32x4_t value = vaddq_s32(vshlq_n_s32(first, 9), vmulq_s32(rest, step));
    value = vpselq_s32(value, vdupq_n_s32(0x7FFF << 10), inside);
    return vmlaq_n_s32(vrshrq_n_s32(veorq_s32(value, sign), 10), sign, -(1 << 15));
}

/** As tinyrt_tanh_of, likewise. */
static inline int32x4_t hyperbolic_tangent(const uint16_t *table, int32x4_t position) {
    const int32x4_t sign = vshrq_n_s32(position, 31);
    const int32x4_t magnitude = vabsq_s32(position);
    const int32x4_t index = vshrq_n_s32(magnitude, 8);
    const mve_pred16_t inside = vcmpltq_n_s32(index, 255);
    int32x4_t first;
    const int32x4_t step = between(table, vreinterpretq_u32_s32(index), &first, inside);
    const int32x4_t rest = vandq_s32(magnitude, vdupq_n_s32((1 << 8) - 1));
    int32x4_t value = vaddq_s32(vshlq_n_s32(first, 8), vmulq_s32(rest, step));
    value = vsubq_n_s32(vpselq_s32(value, vdupq_n_s32(0xFFFF << 8), inside), 1 << 23);
    return vrshrq_n_s32(veorq_s32(value, sign), 8);
}

/** Four units' new cell states, and their hidden states. */
static inline int32x4_t hidden_of(const tinyrt_lstm_quads_s8_params *p, const int32x4_t *gate,
                                  int32x4_t before, int16_t *after, mve_pred16_t lanes) {
    const uint16_t *const table = p->table;
    const int32x4_t kept =
        rescaled(&p->kept, vmulq_s32(logistic(table, vmulq_n_s32(gate[1], 3)), before));
    const int32x4_t in = logistic(table, vmulq_n_s32(gate[0], 3));
    const int32x4_t new = hyperbolic_tangent(table, vmulq_n_s32(gate[2], 3));
    int32x4_t cell = saturated_sum(kept, rescaled(&p->update, vmulq_s32(in, new)));
    if (p->cell_clip > 0) {
        cell = vmaxq_s32(vminq_s32(cell, vdupq_n_s32(p->cell_clip)), vdupq_n_s32(-p->cell_clip));
    }
    vstrhq_p_s32(after, cell, lanes);
    const int32x4_t position = vrshlq_n_s32(vmulq_n_s32(cell, p->tanh_mult), -p->tanh_right);
    const int32x4_t out = logistic(table, vmulq_n_s32(gate[3], 3));
    return rescaled(&p->shown, vmulq_s32(out, hyperbolic_tangent(table, position)));
}

/** One step of a sample. */
static TINYRT_NOINLINE void step_of(const tinyrt_lstm_quads_s8_params *p, const operand *x,
                                    const operand *h, walk next, const int16_t *before,
                                    int16_t *after, int8_t *y) {
    for (int32_t left = p->units; left > 0; left -= 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)left);
        const int32x4_t input = next_gate(&p->input, x, h, &next);
        const int32x4_t forget = next_gate(&p->forget, x, h, &next);
        const int32x4_t cell = next_gate(&p->cell, x, h, &next);
        const int32x4_t output = next_gate(&p->output, x, h, &next);
        const int32x4_t gate[4] = {input, forget, cell, output};
        const int32x4_t value = hidden_of(p, gate, vldrhq_z_s32(before, lanes), after, lanes);
        const int16x8_t moved =
            vqaddq_n_s16(vqmovnbq_s32(vdupq_n_s16(0), value), (int16_t)p->h_zp);
        vstrbq_p_s32(y, vreinterpretq_s32_s8(vqmovnbq_s16(vdupq_n_s8(0), moved)), lanes);
        before += 4;
        after += 4;
        y += 4;
    }
}

void tinyrt_lstm_quads_s8(const tinyrt_lstm_quads_s8_params *p, const int8_t *x, const int8_t *w,
                          const int8_t *r, const int32_t *start, const int32_t *restart,
                          const int8_t *h_before, const int16_t *c_before, int8_t *h_after,
                          int16_t *c_after, int8_t *y) {
    const int32_t units = p->units;
    const tinyrt_lstm_strides in =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, p->c_in);
    const tinyrt_lstm_strides out =
        tinyrt_lstm_strides_of(p->time_major, p->samples, p->steps, units);
    const int32_t x_first = tinyrt_mve_first_bytes(p->c_in);
    const int32_t h_first = tinyrt_mve_first_bytes(units);
    const walk first = {w, r, start, restart};
    operand of_x = operand_of(p->c_in);
    operand of_h = operand_of(units);
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
