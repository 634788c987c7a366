#include "tinyrt_signal_filter_bank.h"

#include "tinyrt_bits.h"
#include "tinyrt_log_table.h"

/** log2 of a number above 0, as 65536ths. */
static uint32_t log2_of(uint32_t x) {
    const uint32_t whole = (uint32_t)tinyrt_bit_length(x) - 1;
    const uint32_t above = x - (UINT32_C(1) << whole);
    const uint32_t fraction = (whole < 16) ? above << (16 - whole) : (above >> (whole - 16));
    const uint32_t segment = fraction >> 9;
    const int32_t rise = TINYRT_LOG_TABLE[segment + 1] - TINYRT_LOG_TABLE[segment];
    const int32_t between = (rise * (int32_t)(fraction - (segment << 9))) >> 16;
    return (whole << 16) + fraction + TINYRT_LOG_TABLE[segment] + (uint32_t)between;
}

void tinyrt_signal_filter_bank_log(int32_t size, int32_t bits, int32_t scale,
                                   const uint32_t *TINYRT_RESTRICT x, int16_t *TINYRT_RESTRICT y) {
    for (int32_t i = 0; i < size; ++i) {
        const uint32_t shifted = x[i] << bits;
        uint32_t log = 0;
        if (shifted > 1) {
            const uint64_t natural = (TINYRT_LN2 * log2_of(shifted) + (1 << 15)) >> 16;
            log = ((uint32_t)scale * (uint32_t)natural + (1 << 15)) >> 16;
        }
        y[i] = (int16_t)(log < INT16_MAX ? log : INT16_MAX);
    }
}
