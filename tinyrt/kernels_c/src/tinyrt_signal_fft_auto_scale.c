#include "tinyrt_signal_fft.h"

/** The largest size of a sample; behind -32768, whose size an int16 does not hold, the search
 *  begins anew. */
static int32_t largest(int32_t size, const int16_t *x) {
    int32_t most = 0;
    for (int32_t i = 0; i < size; ++i) {
        if (x[i] > most) {
            most = x[i];
        } else if (-x[i] > most) {
            most = (x[i] == INT16_MIN) ? INT16_MIN : -x[i];
        } else {
            /* No larger one. */
        }
    }
    return most;
}

void tinyrt_signal_fft_auto_scale(int32_t size, const int16_t *x, int16_t *y, int32_t *bits) {
    const int32_t most = largest(size, x);
    int32_t shift = 0;
    while ((most > 0) && most << (shift + 1) <= INT16_MAX) {
        ++shift;
    }
    for (int32_t i = 0; i < size; ++i) {
        y[i] = (int16_t)(x[i] * (1 << shift));
    }
    *bits = shift;
}
