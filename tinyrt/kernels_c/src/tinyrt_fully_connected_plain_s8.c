#include "tinyrt_fully_connected.h"

#include "tinyrt_fixedpoint.h"

void tinyrt_fully_connected_plain_s8(const tinyrt_fully_connected_plain_s8_params *p,
                                     const int8_t *x, const int8_t *w, const int32_t *bias,
                                     int8_t *TINYRT_RESTRICT y) {
    for (int32_t row = 0; row < p->rows; ++row) {
        const int8_t *filter = w;
        for (int32_t oc = 0; oc < p->c_out; ++oc) {
            int32_t acc = 0;
            for (int32_t i = 0; i < p->c_in; ++i) {
                acc += (x[i] - p->x_zp) * filter[i];
            }
            acc = tinyrt_add_wrapping(acc, (bias != NULL) ? bias[oc] : 0);
            *y++ = tinyrt_requant_channel(&p->requant, oc, acc);
            filter += p->c_in;
        }
        x += p->c_in;
    }
}
