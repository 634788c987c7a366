#include "tinyrt_dense_n_of_4.h"

#include "tinyrt_copy.h"
#include "tinyrt_requant4.h"

/** One channel's weights: values, and where in its group of four taps each belongs. */
typedef struct {
    const int8_t *w;
    const int8_t *places;
} kept;

/** The products of four weights, of which n are in one group. */
static inline int32_t four(const int8_t *w, uint32_t places, int32_t n, const int8_t *x) {
    const int8_t *const second = x + ((n == 2) ? 0 : 4);
    const int8_t *const third = x + ((n == 2) ? 4 : 8);
    const int8_t *const fourth = x + ((n == 2) ? 4 : 12);
    return (w[0] * x[places & 3]) + (w[1] * second[(places >> 2) & 3]) +
           (w[2] * third[(places >> 4) & 3]) + (w[3] * fourth[places >> 6]);
}

/** A channel's sum, which is added to acc. */
static inline int32_t dot(kept *from, int32_t n, const int8_t *x, const int8_t *end, int32_t acc) {
    for (; x != end; x += 16 / n, from->w += 4) {
        acc += four(from->w, (uint8_t)*from->places++, n, x);
    }
    return acc;
}

/** All channels of one row; n is a constant where this is called. */
static inline void one_row(const tinyrt_dense_n_of_4_s8_params *p, int32_t n, const int8_t *x,
                           int8_t *y) {
    const int8_t *const end = x + p->c_in;
    const int32_t zp = (2 * p->y_zp) + 1;
    kept from = {p->w, p->places};
    const int32_t *mult = p->mult;
    const int8_t *shift = p->shift;
    for (int32_t channel = 0; channel < p->c_out; ++channel) {
        const int32_t acc = dot(&from, n, x, end, p->init[channel]);
        y[channel] = tinyrt_requant_doubled(2 * acc, *mult, *shift, zp);
        mult += p->requant_step;
        shift += p->requant_step;
    }
}

void tinyrt_dense_n_of_4_s8(const tinyrt_dense_n_of_4_s8_params *p, const int8_t *x, int8_t *row,
                            int8_t *y) {
    for (int32_t left = p->rows; left > 0; --left) {
        const int8_t *from = x;
        if (row != NULL) {
            (void)tinyrt_copy(x, row + p->c_in, row);
            from = row;
        }
        if (p->n == 2) {
            one_row(p, 2, from, y);
        } else {
            one_row(p, 1, from, y);
        }
        x += p->c_in;
        y += p->c_out;
    }
}
