#include "tinyrt_signal_fft.h"

#define TINYRT_SCALAR float
#define TINYRT_WIDE float
#define TINYRT_ROUND(x) (x)
#define TINYRT_DIVIDE(x, radix) (x)
#define TINYRT_HALF(x) ((x) * 0.5F)
#include "tinyrt_irfft_loop.h"

void tinyrt_signal_irfft_f32(const tinyrt_signal_fft_params *p, const float *TINYRT_RESTRICT x,
                             const float *w, const float *split, float *TINYRT_RESTRICT y) {
    tinyrt_irfft(p, x, w, split, y);
    for (int32_t i = 0; i < (2 * p->rows * p->count); ++i) {
        y[i] /= (float)(2 * p->count);
    }
}
