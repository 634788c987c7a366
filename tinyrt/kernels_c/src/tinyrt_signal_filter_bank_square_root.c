#include "tinyrt_signal_filter_bank.h"

#include "tinyrt_bits.h"
#include "tinyrt_root_table.h"

/** (a * b) >> bits. */
static inline uint32_t product(uint32_t a, uint32_t b, int32_t bits) {
    return (uint32_t)(((uint64_t)a * b) >> bits);
}

/** About the root of x, which is not 0: two steps of Newton's of the inverse root r of the upper 32
 *  bits m, r <- r * (3 - m * r * r) / 2. */
static uint32_t near_root(uint64_t x) {
    const uint32_t upper = (uint32_t)(x >> 32);
    const int32_t length =
        (upper != 0) ? 32 + tinyrt_bit_length(upper) : tinyrt_bit_length((uint32_t)x);
    const int32_t shift = (64 - length) & ~1;
    const uint32_t m = (uint32_t)((x << shift) >> 32);
    uint32_t r = (uint32_t)TINYRT_INVERSE_ROOTS[(m >> 25) - 32] << 23;
    for (int32_t i = 0; i < 2; ++i) {
        const uint32_t one = product(m, product(r, r, 32), 32);
        r = product(r, (UINT32_C(3) << 28) - one, 29);
    }
    const uint64_t root = ((uint64_t)m * r) >> 30;
    return (root < UINT32_MAX ? (uint32_t)root : UINT32_MAX) >> (shift / 2);
}

/** The nearest root, of at most 16 bits where x has 32, and else of 32. */
static uint32_t root_of(uint64_t x) {
    if (x == 0) {
        return 0;
    }
    uint32_t root = near_root(x);
    int64_t rest = (int64_t)(x - (uint64_t)root * root);
    while (rest < 0) {
        --root;
        rest += 2 * (int64_t)root + 1;
    }
    while (rest > (2 * (int64_t)root)) {
        rest -= 2 * (int64_t)root + 1;
        ++root;
    }
    return root + ((rest > root) && root != (x > UINT32_MAX ? UINT32_MAX : UINT16_MAX));
}

void tinyrt_signal_filter_bank_square_root(int32_t size, const uint64_t *TINYRT_RESTRICT x,
                                           const int32_t *bits, uint32_t *TINYRT_RESTRICT y) {
    const int32_t shift = *bits & 31;
    for (int32_t i = 0; i < size; ++i) {
        y[i] = root_of(x[i]) >> shift;
    }
}
