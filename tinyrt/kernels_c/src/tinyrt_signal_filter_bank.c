#include "tinyrt_signal_filter_bank.h"

/** The sum of so many products, modulo 2**64. */
static uint64_t sum(int32_t width, const uint32_t *x, const int16_t *w) {
    uint64_t total = 0;
    for (int32_t i = 0; i < width; ++i) {
        total += (uint64_t)w[i] * x[i];
    }
    return total;
}

void tinyrt_signal_filter_bank(const tinyrt_signal_filter_bank_params *p,
                               const uint32_t *TINYRT_RESTRICT x, const int16_t *w,
                               const int16_t *u, uint64_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i <= p->channels; ++i) {
        const uint32_t *const from = x + p->frequency_start[i];
        const int32_t at = p->weight_start[i];
        if (i > 0) {
            y[i - 1] += sum(p->width[i], from, w + at);
        }
        if (i < p->channels) {
            y[i] = sum(p->width[i], from, u + at);
        }
    }
}
