/** Tiles of float sums in C, included by tinyrt_float_tile.h. That says how many pixels, or rows of
 * a matrix, share weights, TINYRT_TILE_ROWS: four or one. And how many channels of a depthwise
 * layer are taken at once, TINYRT_STRIP: sixteen or four. */
#ifndef TINYRT_FLOAT_TILE_C_H
#define TINYRT_FLOAT_TILE_C_H

#include "tinyrt_channel_taps.h"
#include "tinyrt_float.h"
#include "tinyrt_types.h"

/** A pixel's products with four filters that lie side by side. */
static inline void tinyrt_quad_run(const float *x, const float *w, int32_t length, float *sum) {
    float s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    for (; length > 0; --length, w += 4) {
        const float value = *x++;
        s0 = tinyrt_mlaf(s0, value, w[0]);
        s1 = tinyrt_mlaf(s1, value, w[1]);
        s2 = tinyrt_mlaf(s2, value, w[2]);
        s3 = tinyrt_mlaf(s3, value, w[3]);
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/** A pixel's products with four filters that lie w_step apart. */
static inline void tinyrt_quad_apart(const float *x, const float *w, int32_t w_step, int32_t length,
                                     float *sum) {
    const float *w1 = w + w_step;
    const float *w2 = w1 + w_step;
    const float *w3 = w2 + w_step;
    float s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
    for (; length > 0; --length) {
        const float value = *x++;
        s0 = tinyrt_mlaf(s0, value, *w++);
        s1 = tinyrt_mlaf(s1, value, *w1++);
        s2 = tinyrt_mlaf(s2, value, *w2++);
        s3 = tinyrt_mlaf(s3, value, *w3++);
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/** Four pixels' products with four filters; pixels are x_step apart, their sums four. */
static inline void tinyrt_tile_run(const float *x, int32_t x_step, const float *w, int32_t length,
                                   float *sum) {
    for (int32_t pixel = 0; pixel < 4; ++pixel, x += x_step, sum += 4) {
        tinyrt_quad_run(x, w, length, sum);
    }
}

/** sum and a pixel's products with one filter. */
static inline float tinyrt_single_run(const float *x, const float *w, int32_t length, float sum) {
    for (; length > 0; --length) {
        sum = tinyrt_mlaf(sum, *x++, *w++);
    }
    return sum;
}

/** Four channels of a pixel, each times its own weights, and what they begin with. Requires: there
 * is a tap. */
static inline void tinyrt_quad_taps(const tinyrt_channel_taps *taps, const float *x, const float *w,
                                    const float *from, float *sum) {
    float s0 = from[0], s1 = from[1], s2 = from[2], s3 = from[3];
    for (int32_t rows = taps->rows; rows > 0; --rows, x += taps->x_next, w += taps->w_next) {
        for (int32_t left = taps->columns; left > 0; --left) {
            s0 = tinyrt_mlaf(s0, x[0], w[0]);
            s1 = tinyrt_mlaf(s1, x[1], w[1]);
            s2 = tinyrt_mlaf(s2, x[2], w[2]);
            s3 = tinyrt_mlaf(s3, x[3], w[3]);
            x += taps->x_tap;
            w += taps->w_tap;
        }
    }
    sum[0] = s0;
    sum[1] = s1;
    sum[2] = s2;
    sum[3] = s3;
}

/** The same of sixteen channels. */
static inline void tinyrt_strip_taps(const tinyrt_channel_taps *taps, const float *x,
                                     const float *w, const float *from, float *sum) {
    for (int32_t channel = 0; channel < 16; channel += 4) {
        tinyrt_quad_taps(taps, x + channel, w + channel, from + channel, sum + channel);
    }
}

/** Sixteen channels of a pixel, of which each four have filters for the same channel of x:
 *  channels says which. */
static inline void tinyrt_spread_taps(const float *x, const int32_t channels[4], int32_t x_tap,
                                      const float *w, int32_t w_tap, int32_t taps,
                                      const float *from, float *sum) {
    for (int32_t four = 0; four < 4; ++four, from += 4, sum += 4) {
        const float *value = x + channels[four];
        const float *weights = w + (4 * four);
        for (int32_t i = 0; i < 4; ++i) {
            sum[i] = from[i];
        }
        for (int32_t tap = 0; tap < taps; ++tap, value += x_tap, weights += w_tap) {
            tinyrt_quad_run(value, weights, 1, sum);
        }
    }
}

/** A row of a times four columns of b, and where elements of the row, and columns and rows of b,
 * lie apart. */
static inline void tinyrt_row_product(const float *a, int32_t a_inner, const float *b,
                                      int32_t b_column, int32_t b_inner, int32_t inner,
                                      float *sum) {
    for (int32_t column = 0; column < 4; ++column, b += b_column) {
        const float *x = a;
        const float *w = b;
        float s = 0.0F;
        for (int32_t left = inner; left > 0; --left, x += a_inner, w += b_inner) {
            s = tinyrt_mlaf(s, *x, *w);
        }
        sum[column] = s;
    }
}

/** Four rows, which are a_row apart. */
static inline void tinyrt_tile_product(const float *a, int32_t a_row, int32_t a_inner,
                                       const float *b, int32_t b_column, int32_t b_inner,
                                       int32_t inner, float *sum) {
    for (int32_t row = 0; row < 4; ++row, a += a_row, sum += 4) {
        tinyrt_row_product(a, a_inner, b, b_column, b_inner, inner, sum);
    }
}

/** Fours of sums, limited to [low, high]; fours of y are y_step apart. NaN stays. */
static inline void tinyrt_quads_finish(const float *sum, int32_t quads, float low, float high,
                                       float *y, int32_t y_step) {
    for (; quads > 0; --quads, y += y_step) {
        for (int32_t i = 0; i < 4; ++i) {
            y[i] = tinyrt_clampf(*sum++, low, high);
        }
    }
}

/** The same, with outputs that are y_step apart one by one. */
static inline void tinyrt_quads_finish_apart(const float *sum, int32_t quads, float low, float high,
                                             float *y, int32_t y_step) {
    for (const float *const end = sum + (4 * quads); sum != end; y += y_step) {
        *y = tinyrt_clampf(*sum++, low, high);
    }
}

#endif
