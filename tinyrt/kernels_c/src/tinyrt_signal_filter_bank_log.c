#include "tinyrt_signal_filter_bank.h"

#include "tinyrt_bits.h"

/** log2(1 + x) - x at 128ths, as 65536ths, and a 0 behind them. */
static const uint16_t TABLE[130] = {
    0,    224,  442,  654,  861,  1063, 1259, 1450, 1636, 1817, 1992, 2163, 2329, 2490, 2646,
    2797, 2944, 3087, 3224, 3358, 3487, 3611, 3732, 3848, 3960, 4068, 4172, 4272, 4368, 4460,
    4549, 4633, 4714, 4791, 4864, 4934, 5001, 5063, 5123, 5178, 5231, 5280, 5326, 5368, 5408,
    5444, 5477, 5507, 5533, 5557, 5578, 5595, 5610, 5622, 5631, 5637, 5640, 5641, 5638, 5633,
    5626, 5615, 5602, 5586, 5568, 5547, 5524, 5498, 5470, 5439, 5406, 5370, 5332, 5291, 5249,
    5203, 5156, 5106, 5054, 5000, 4944, 4885, 4825, 4762, 4697, 4630, 4561, 4490, 4416, 4341,
    4264, 4184, 4103, 4020, 3935, 3848, 3759, 3668, 3575, 3481, 3384, 3286, 3186, 3084, 2981,
    2875, 2768, 2659, 2549, 2437, 2323, 2207, 2090, 1971, 1851, 1729, 1605, 1480, 1353, 1224,
    1094, 963,  830,  695,  559,  421,  282,  142,  0,    0};

/** The natural logarithm of 2, as 65536ths. */
#define LN2 UINT64_C(45426)

/** log2 of a number above 0, as 65536ths. */
static uint32_t log2_of(uint32_t x) {
    const uint32_t whole = (uint32_t)tinyrt_bit_length(x) - 1;
    const uint32_t above = x - (UINT32_C(1) << whole);
    const uint32_t fraction = whole < 16 ? above << (16 - whole) : above >> (whole - 16);
    const uint32_t segment = fraction >> 9;
    const int32_t rise = TABLE[segment + 1] - TABLE[segment];
    const int32_t between = (rise * (int32_t)(fraction - (segment << 9))) >> 16;
    return (whole << 16) + fraction + TABLE[segment] + (uint32_t)between;
}

void tinyrt_signal_filter_bank_log(int32_t size, int32_t bits, int32_t scale,
                                   const uint32_t *TINYRT_RESTRICT x, int16_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < size; ++i) {
        const uint32_t shifted = x[i] << bits;
        uint32_t log = 0;
        if (shifted > 1) {
            const uint64_t natural = (LN2 * log2_of(shifted) + (1 << 15)) >> 16;
            log = ((uint32_t)scale * (uint32_t)natural + (1 << 15)) >> 16;
        }
        y[i] = (int16_t)(log < INT16_MAX ? log : INT16_MAX);
    }
}
