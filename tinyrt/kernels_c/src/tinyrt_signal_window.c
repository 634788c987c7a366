#include "tinyrt_signal_window.h"

void tinyrt_signal_window(const tinyrt_signal_window_params *p, const int16_t *TINYRT_RESTRICT x,
                          const int16_t *TINYRT_RESTRICT w, int16_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0, at = 0; i < p->size; ++i) {
        const int32_t product = (x[i] * w[at]) >> p->shift;
        const int32_t high = (product > INT16_MAX) ? INT16_MAX : product;
        y[i] = (int16_t)((high < INT16_MIN) ? INT16_MIN : high);
        at = ((at + 1) < p->weights) ? (at + 1) : 0;
    }
}
