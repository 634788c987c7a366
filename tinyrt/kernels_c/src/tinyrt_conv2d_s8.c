#include "tinyrt_conv2d.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_footprint.h"

static int32_t dot(const int8_t *x, const int8_t *w, int32_t length, int32_t x_zp) {
    int32_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        sum += (x[i] - x_zp) * w[i];
    }
    return sum;
}

static int32_t accumulate(const tinyrt_footprint *f, const int8_t *x, const int8_t *w,
                          int32_t x_zp) {
    int32_t sum = 0;
    x += f->x_start;
    w += f->w_start;
    for (int32_t row = 0; row < f->rows; ++row) {
        for (int32_t run = 0; run < f->runs; ++run) {
            sum += dot(x + (run * f->x_run_step), w + (run * f->w_run_step), f->run_length, x_zp);
        }
        x += f->x_row_step;
        w += f->w_row_step;
    }
    return sum;
}

static void all_channels(const tinyrt_conv2d_s8_params *p, const tinyrt_footprint *f,
                         const int8_t *x, const int8_t *w, const int32_t *bias, int8_t *y) {
    const int32_t c_in = p->x.c / p->groups;
    const int32_t c_out = p->y.c / p->groups;
    const int32_t filter_size = p->window.kernel_h * p->window.kernel_w * c_in;
    int32_t oc = 0;
    for (int32_t group = 0; group < p->groups; ++group) {
        for (int32_t i = 0; i < c_out; ++i, ++oc) {
            const int32_t sum = accumulate(f, x, w, p->x_zp);
            y[oc] = tinyrt_requant_channel(&p->requant, oc, sum + ((bias != NULL) ? bias[oc] : 0));
            w += filter_size;
        }
        x += c_in;
    }
}

void tinyrt_conv2d_s8(const tinyrt_conv2d_s8_params *p, const int8_t *x, const int8_t *w,
                      const int32_t *bias, int8_t *y) {
    TINYRT_ASSERT(p->x.c % p->groups == 0 && p->y.c % p->groups == 0);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_footprint f =
                    tinyrt_footprint_of(&p->x, &p->window, p->x.c / p->groups, oy, ox);
                all_channels(p, &f, x, w, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}
