#include "tinyrt_signal_fft.h"

#define TINYRT_SCALAR float
#define TINYRT_WIDE float
#define TINYRT_ROUND(x) (x)
#define TINYRT_DIVIDE(x, radix) (x)
#define TINYRT_HALF(x) ((x) * 0.5F)
#include "tinyrt_rfft_loop.h"

void tinyrt_signal_rfft_f32(const tinyrt_signal_fft_params *p, const float *TINYRT_RESTRICT x,
                            const float *w, const float *split, float *TINYRT_RESTRICT y) {
    tinyrt_rfft(p, x, w, split, y);
}
