/** Convolutions pixel by pixel, as the function TINYRT_KERNEL of TINYRT_PARAMS, which is set where
 *  this is included: TINYRT_CHANNELS(p, &f, x, w, bias, y), defined before, sets all channels of
 * the pixel whose window lies on f of the image at x. TINYRT_X is the type of x and y, TINYRT_W
 * that of weights, TINYRT_SUM that of biases. */
#ifndef TINYRT_CONV2D_PIXELS_H
#define TINYRT_CONV2D_PIXELS_H

#include "tinyrt_footprint.h"

void TINYRT_KERNEL(const TINYRT_PARAMS *p, const TINYRT_X *x, const TINYRT_W *w,
                   const TINYRT_SUM *bias, TINYRT_X *y) {
    TINYRT_ASSERT(p->x.c % p->groups == 0 && p->y.c % p->groups == 0);
    for (int32_t n = 0; n < p->y.n; ++n) {
        for (int32_t oy = 0; oy < p->y.h; ++oy) {
            for (int32_t ox = 0; ox < p->y.w; ++ox) {
                const tinyrt_footprint f =
                    tinyrt_footprint_of(&p->x, &p->window, p->x.c / p->groups, oy, ox);
                TINYRT_CHANNELS(p, &f, x, w, bias, y);
                y += p->y.c;
            }
        }
        x += p->x.h * p->x.w * p->x.c;
    }
}

#endif
