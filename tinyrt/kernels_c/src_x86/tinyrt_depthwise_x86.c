#include "tinyrt_depthwise_x86.h"

#include "tinyrt_tile.h"

/** The taps of a row of windows, of one vector of channels, by fours in each lane. Windows that
 *  overlap along the row share them. */
static void interleave(const tinyrt_depthwise_x86_params *p, const uint8_t *x, uint8_t *taps) {
    const int32_t channels = p->x.c * p->copies;
    for (int32_t i = 0; i < p->border.w; ++i) {
        for (int32_t four = 0; four < p->fours; ++four) {
            const tinyrt_lanes lanes = p->kernel_h == 1 ? tinyrt_widen_bytes(x)
                                                        : tinyrt_interleave4(x, p->rows + 4 * four);
            memcpy(taps, &lanes, sizeof lanes);
            taps += TINYRT_LANE_BYTES;
        }
        x += channels;
    }
}

/** A row of outputs, one vector of channels; form is a constant. */
TINYRT_INLINE void line(const tinyrt_depthwise_x86_params *p, int32_t form, const uint8_t *taps,
                        const int8_t *w, const int32_t *quant, int8_t *y, int32_t left) {
    const tinyrt_finish finish = tinyrt_load_finish(quant, &p->out);
    const tinyrt_lanes first = tinyrt_load_lanes(quant);
    const int32_t stride = p->x.c * p->copies;
    const int32_t fours = p->fours;
    const int32_t kernel = p->kernel_w * fours;
    const int32_t column = fours * TINYRT_LANE_BYTES;
    const int32_t from_column = (p->dilation_w - 1) * column;
    const int32_t step = p->stride_w * column;
    for (int32_t i = 0; i < p->out_w; ++i) {
        tinyrt_lanes acc = first;
        if (from_column == 0) {
            for (int32_t k = 0; k < kernel; ++k) {
                acc = tinyrt_dot4(acc, tinyrt_load_lanes(taps + k * TINYRT_LANE_BYTES),
                                  tinyrt_load_lanes(w + k * TINYRT_LANE_BYTES));
            }
        } else {
            for (int32_t k = 0; k < kernel; ++k) {
                const int32_t skipped = k / fours * from_column;
                acc = tinyrt_dot4(acc, tinyrt_load_lanes(taps + k * TINYRT_LANE_BYTES + skipped),
                                  tinyrt_load_lanes(w + k * TINYRT_LANE_BYTES));
            }
        }
        tinyrt_finish_lanes(acc, form, &finish, y, left);
        taps += step;
        y += stride;
    }
}

static TINYRT_NOINLINE void outputs(const tinyrt_depthwise_x86_params *p, const uint8_t *taps,
                                    const int8_t *w, const int32_t *quant, int8_t *y,
                                    int32_t left) {
    TINYRT_IN_EACH_FORM(p->out.finish, line(p, form, taps, w, quant, y, left));
}

void tinyrt_depthwise_x86(const tinyrt_depthwise_x86_params *p, const int8_t *x, uint8_t *scratch,
                          uint8_t *taps, int8_t *TINYRT_RESTRICT y) {
    const int32_t channels = p->x.c * p->copies;
    const int32_t row_step = p->stride_h * p->border.w * channels;
    for (int32_t n = 0; n < p->x.n; ++n) {
        tinyrt_pad_flip(&p->x, &p->border, p->copies, x, scratch);
        const int8_t *w = p->w;
        const int32_t *quant = p->quant;
        for (int32_t c = 0; c < channels; c += TINYRT_LANES) {
            for (int32_t i = 0; i < p->out_h; ++i) {
                interleave(p, scratch + i * row_step + c, taps);
                outputs(p, taps, w, quant, y + i * p->out_w * channels + c, channels - c);
            }
            w += p->kernel_w * p->fours * TINYRT_LANE_BYTES;
            quant += TINYRT_QUANT;
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->out_h * p->out_w * channels;
    }
}
