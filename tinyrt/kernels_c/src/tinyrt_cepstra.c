#include "tinyrt_cepstra.h"

#include "tinyrt_past.h"

void tinyrt_cepstra(const tinyrt_cepstra_params *p, const uint16_t *x, int16_t *TINYRT_RESTRICT y) {
    const int32_t half = (int32_t)((1U << p->bits) >> 1);
    const int16_t *weights = p->weights;
    for (int32_t i = 0; i < p->coefficients; ++i, weights += p->bands) {
        y[i] = (int16_t)(tinyrt_past_s16((const int16_t *)x, weights, p->bands, half) >> p->bits);
    }
}
