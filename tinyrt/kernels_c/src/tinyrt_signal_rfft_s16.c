#include "tinyrt_signal_fft.h"

#define TINYRT_SCALAR int16_t
#define TINYRT_WIDE int32_t
#define TINYRT_ROUND(x) (((x) + (1 << 14)) >> 15)
#define TINYRT_DIVIDE(x, radix) TINYRT_ROUND((x) * (INT16_MAX / (radix)))
#define TINYRT_HALF(x) ((x) >> 1)
#include "tinyrt_fft_s16.h"
#include "tinyrt_rfft_s16.h"

#include "tinyrt_rfft_loop.h"

void tinyrt_signal_rfft_s16(const tinyrt_signal_fft_params *p, const int16_t *TINYRT_RESTRICT x,
                            const int16_t *w, const int16_t *split, int16_t *TINYRT_RESTRICT y) {
    tinyrt_rfft(p, x, w, split, y);
}
