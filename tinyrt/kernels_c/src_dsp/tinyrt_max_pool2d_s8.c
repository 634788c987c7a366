#include "tinyrt_max_pool2d.h"

#include "tinyrt_simd.h"

/** The taps of one window that lie inside the input. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row_step;
    int32_t column_step;
} tinyrt_taps;

static uint32_t largest_of_four(tinyrt_taps taps, const int8_t *x) {
    uint32_t most = tinyrt_load_word(x);
    for (; taps.rows > 0; --taps.rows, x += taps.row_step) {
        const int8_t *tap = x;
        for (int32_t left = taps.columns; left > 0; --left, tap += taps.column_step) {
            most = tinyrt_max_bytes(most, tinyrt_load_word(tap));
        }
    }
    return most;
}

static int32_t largest(tinyrt_taps taps, const int8_t *x) {
    int32_t most = *x;
    for (; taps.rows > 0; --taps.rows, x += taps.row_step) {
        for (int32_t i = 0; i < taps.columns; ++i) {
            const int8_t value = x[i * taps.column_step];
            most = value > most ? value : most;
        }
    }
    return most;
}

/** All channels of one output, four at a time. */
static void one_output(const tinyrt_pool2d_s8_params *p, tinyrt_taps taps, const int8_t *x,
                       int8_t *y) {
    const uint32_t low = tinyrt_four_times(p->act_min);
    const uint32_t high = tinyrt_four_times(p->act_max);
    int32_t c = 0;
    for (; c + 4 <= p->y.c; c += 4) {
        const uint32_t most = tinyrt_max_bytes(largest_of_four(taps, x + c), low);
        tinyrt_store_word(y + c, tinyrt_min_bytes(most, high));
    }
    for (; c < p->y.c; ++c) {
        y[c] = (int8_t)tinyrt_clamp(largest(taps, x + c), p->act_min, p->act_max);
    }
}

void tinyrt_max_pool2d_s8(const tinyrt_pool2d_s8_params *p, const int8_t *x, int8_t *y) {
    const tinyrt_window *const window = &p->window;
    const int32_t row_step = p->x.w * p->x.c;
    for (int32_t n = 0; n < p->y.n; ++n, x += p->x.h * row_step) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            const int32_t y0 = oy * window->stride_h - window->pad_top;
            const tinyrt_range ky = tinyrt_taps_inside(y0, p->x.h, window->kernel_h, 1);
            for (int32_t ox = 0; ox < p->y.w; ++ox, y += p->y.c) {
                const int32_t x0 = ox * window->stride_w - window->pad_left;
                const tinyrt_range kx = tinyrt_taps_inside(x0, p->x.w, window->kernel_w, 1);
                const tinyrt_taps taps = {ky.end - ky.begin, kx.end - kx.begin, row_step, p->x.c};
                one_output(p, taps, x + (y0 + ky.begin) * row_step + (x0 + kx.begin) * p->x.c, y);
            }
        }
    }
}
