#include "tinyrt_depthwise_lines_x86.h"

#include "tinyrt_tile.h"

#define TINYRT_COLUMNS 3

typedef tinyrt_depthwise_lines_x86_params lines_params;

/** Lines of outputs, one vector of channels; form, together and stride are constants. */
TINYRT_INLINE void pass(const lines_params *p, int32_t form, int32_t together, int32_t stride,
                        const uint8_t *x, const int8_t *w, const int32_t *quant, int8_t *y,
                        int32_t left) {
    /* Stores of outputs might change what p points to, for all that the compiler knows. */
    const int32_t rows[4] = {p->rows[0], p->rows[1], p->rows[2], p->rows[3]};
    const int32_t column = p->column;
    const int32_t channels = p->channels;
    const int32_t width = p->width;
    const tinyrt_finish finish = tinyrt_load_finish(quant, &p->out);
    const tinyrt_lanes first = tinyrt_load_lanes(quant);
    tinyrt_lanes columns[TINYRT_COLUMNS];
#pragma GCC unroll 3
    for (int32_t k = 0; k < TINYRT_COLUMNS - stride; ++k) {
        columns[k] = tinyrt_interleave4(x, rows);
        x += column;
    }
    for (int32_t i = 0; i < width; ++i) {
#pragma GCC unroll 3
        for (int32_t k = TINYRT_COLUMNS - stride; k < TINYRT_COLUMNS; ++k) {
            columns[k] = tinyrt_interleave4(x, rows);
            x += column;
        }
#pragma GCC unroll 2
        for (int32_t line = 0; line < together; ++line) {
            tinyrt_lanes acc = first;
#pragma GCC unroll 3
            for (int32_t k = 0; k < TINYRT_COLUMNS; ++k) {
                acc = tinyrt_dot4(acc, columns[k],
                                  tinyrt_load_lanes(w + (k * together + line) * TINYRT_LANE_BYTES));
            }
            tinyrt_finish_lanes(acc, form, &finish, y + line * width * channels, left);
        }
#pragma GCC unroll 3
        for (int32_t k = 0; k < TINYRT_COLUMNS - stride; ++k) {
            columns[k] = columns[k + stride];
        }
        y += channels;
    }
}

#define TINYRT_KERNEL(name, together, stride)                                                      \
    static TINYRT_NOINLINE void name(const lines_params *p, const uint8_t *x, const int8_t *w,     \
                                     const int32_t *quant, int8_t *y, int32_t left) {              \
        TINYRT_IN_EACH_FORM(p->out.finish, pass(p, form, together, stride, x, w, quant, y, left)); \
    }

TINYRT_KERNEL(one, 1, 2)
TINYRT_KERNEL(two, 2, 1)
TINYRT_KERNEL(two_of_pairs, 2, 2)

void tinyrt_depthwise_lines_x86(const lines_params *p, const int8_t *x, uint8_t *scratch,
                                int8_t *TINYRT_RESTRICT y) {
    void (*const lines)(const lines_params *, const uint8_t *, const int8_t *, const int32_t *,
                        int8_t *, int32_t) = p->together == 1 ? one
                                             : p->stride == 1 ? two
                                                              : two_of_pairs;
    const int32_t line = p->width * p->channels;
    for (int32_t n = 0; n < p->x.n; ++n) {
        tinyrt_pad_flip(&p->x, &p->border, p->copies, x, scratch);
        const int8_t *w = p->w;
        const int32_t *quant = p->quant;
        for (int32_t c = 0; c < p->channels; c += TINYRT_LANES) {
            for (int32_t i = 0; i < p->height; i += p->together) {
                /* The last lines overlap those before them rather than leave a single one. */
                const int32_t last = p->height - p->together;
                const int32_t at = i > last ? last : i;
                lines(p, scratch + at * p->row_step + c, w, quant, y + at * line + c,
                      p->channels - c);
            }
            w += TINYRT_COLUMNS * p->together * TINYRT_LANE_BYTES;
            quant += TINYRT_QUANT;
        }
        x += p->x.h * p->x.w * p->x.c;
        y += p->height * line;
    }
}
