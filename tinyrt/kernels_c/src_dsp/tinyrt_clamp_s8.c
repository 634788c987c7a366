#include "tinyrt_clamp.h"

#include "tinyrt_fixedpoint.h"
#include "tinyrt_simd.h"

void tinyrt_clamp_s8(int32_t size, int32_t low, int32_t high, int8_t *y) {
    const uint32_t least = tinyrt_four_times(low);
    const uint32_t most = tinyrt_four_times(high);
    const int8_t *const end = y + size;
    for (; (end - y) >= 4; y += 4) {
        const uint32_t four = tinyrt_max_bytes(tinyrt_load_word(y), least);
        tinyrt_store_word(y, tinyrt_min_bytes(four, most));
    }
    for (; y != end; ++y) {
        *y = (int8_t)tinyrt_clamp(*y, low, high);
    }
}
