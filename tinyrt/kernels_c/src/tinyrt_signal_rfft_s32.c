#include "tinyrt_signal_fft.h"

#define TINYRT_SCALAR int32_t
#define TINYRT_WIDE int64_t
#define TINYRT_ROUND(x) (((x) + (1 << 30)) >> 31)
#define TINYRT_DIVIDE(x, radix) TINYRT_ROUND((x) * (INT32_MAX / (radix)))
#define TINYRT_HALF(x) ((int32_t)(x) >> 1)
#include "tinyrt_rfft_loop.h"

void tinyrt_signal_rfft_s32(const tinyrt_signal_fft_params *p, const int32_t *TINYRT_RESTRICT x,
                            const int32_t *w, const int32_t *split, int32_t *TINYRT_RESTRICT y) {
    tinyrt_rfft(p, x, w, split, y);
}
