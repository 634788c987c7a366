#include "tinyrt_signal_filter_bank.h"

/** The root, rounded down, of less than two to the power of bits; what is left goes to rest. */
static uint64_t root_of(uint64_t x, int32_t bits, uint64_t *rest) {
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << (bits - 2); bit != 0; bit >>= 2) {
        if (x >= root + bit) {
            x -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    *rest = x;
    return root;
}

void tinyrt_signal_filter_bank_square_root(int32_t size, const uint64_t *TINYRT_RESTRICT x,
                                           const int32_t *bits, uint32_t *TINYRT_RESTRICT y) {
    const int32_t shift = *bits & 31;
    for (int32_t i = 0; i < size; ++i) {
        const int is_wide = x[i] > UINT32_MAX;
        uint64_t rest;
        uint64_t root = root_of(x[i], is_wide ? 64 : 32, &rest);
        if (rest > root && root != (is_wide ? UINT32_MAX : UINT16_MAX)) {
            ++root;
        }
        y[i] = (uint32_t)root >> shift;
    }
}
